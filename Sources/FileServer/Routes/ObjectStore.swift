import CipherSQL
import ServerStorage
import SyncModel
import HTTPClient

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A bucket of a server with the S3 protocol. Devices upload and download files at addresses that are signed for them.
/// The server checks and removes objects.
///
/// The account of the credentials needs `PutObject`, `GetObject`, `DeleteObject` on the bucket, and `ListBucket`:
/// without it a store returns 403 for a missing object.
public struct ObjectStore: Sendable {
  /// The store's data about an object.
  struct Found: Equatable {
    var byteCount: Int64
    var contentType: String?
    /// The SHA-256 in base64, if the store keeps it.
    var sha256: String?
  }

  /// The reason why a request to the store failed.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The default validity of an address, in seconds: ten minutes.
  public static let usualAddressSeconds = 600

  let addressSeconds: Int
  private let transport: HTTPTransport
  private let signer: SignatureV4
  private let host: String
  private let bucket: String
  /// The clock of the signatures.
  package var clock = Clock.system

  /// Creates a bucket.
  /// - Parameters:
  ///   - endpoint: such as `https://s3.eu-central-1.amazonaws.com`; the bucket is part of the path.
  ///   - region: the store's name of its region; many stores other than Amazon's accept any.
  /// - Throws: ``ServerError`` with `badObjectStore`.
  public init(
    endpoint: String, bucket: String, region: String = "us-east-1", credentials: ObjectStoreCredentials,
    addressSeconds: Int = usualAddressSeconds
  ) throws(ServerError) {
    let address: ServerAddress
    do throws(TransportFailure) {
      address = try ServerAddress(endpoint)
    } catch {
      throw ServerError(.badObjectStore, "the object store: \(error.message)", hint: "use an https:// address")
    }
    let origin = address.description.split(separator: "/", omittingEmptySubsequences: true)
    guard origin.count == 2, let parts = URLComponents(string: address.description), let name = parts.host else {
      throw ServerError(
        .badObjectStore, "the address of the object store has a path; name the bucket separately")
    }
    guard (3...63).contains(bucket.utf8.count), bucket.utf8.allSatisfy(Self.isOfBucket) else {
      throw ServerError(
        .badObjectStore, "invalid bucket name", hint: "use 3 to 63 lowercase letters, digits, dots and hyphens")
    }
    let usual = address.isEncrypted ? 443 : 80
    host = parts.port.map { $0 == usual ? name : "\(name):\($0)" } ?? name
    self.bucket = bucket
    self.addressSeconds = addressSeconds
    signer = SignatureV4(credentials, region: region)
    var limits = TransportLimits()
    (limits.connectSeconds, limits.idleSeconds, limits.wholeSeconds) = (5, 10, 30)
    transport = HTTPTransport(address: address, limits: limits) { nil }
  }

  private static func isOfBucket(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: ".")
  }

  // MARK: Addresses for devices

  /// Returns the address for an upload. A store that compares length, type and digest accepts no other object.
  func addressToSend(_ key: String, byteCount: Int64, sha256: String, contentType: String) -> FileAddress {
    let headers = [
      "Content-Type": contentType, "x-amz-checksum-sha256": sha256,
      // Some stores keep the digest only if the request has it.
      "x-amz-sdk-checksum-algorithm": "SHA256",
    ]
    return address(
      "PUT", key, headers: headers, alsoSigned: [("Content-Length", String(byteCount))])
  }

  /// Returns the address for a download, with headers that keep a browser from running the file.
  func addressToFetch(_ key: String) -> FileAddress {
    address("GET", key, query: [("response-content-type", "application/octet-stream")])
  }

  private func address(
    _ method: String, _ key: String, query: [(name: String, value: String)] = [], headers: [String: String] = [:],
    alsoSigned: [(name: String, value: String)] = []
  ) -> FileAddress {
    let now = clock.now()
    let signed = [("host", host)] + headers.map { ($0.key, $0.value) } + alsoSigned
    let path = "/\(bucket)/\(key)"
    let words = signer.query(presigning: method, path, query, headers: signed, seconds: addressSeconds, at: now)
    return FileAddress(
      url: "\(transport.address)\(path)?\(words)", method: method, headers: headers,
      expiresAt: now + Int64(addressSeconds) * 1_000)
  }

  // MARK: What the server asks itself

  /// Returns the store's data about a key; `nil` if the object is missing.
  func find(_ key: String) async throws -> Found? {
    let response = try await ask("HEAD", key, ["x-amz-checksum-mode": "ENABLED"])
    if response.status == 404 { return nil }
    guard response.status == 200 else { throw Failure(description: "HEAD returned status \(response.status)") }
    guard let byteCount = response.headers["content-length"].flatMap({ Int64($0) }) else {
      throw Failure(description: "HEAD returned no length")
    }
    return Found(
      byteCount: byteCount, contentType: response.headers["content-type"],
      sha256: response.headers["x-amz-checksum-sha256"])
  }

  /// Stores an empty object, such as the marker of an account.
  func putEmpty(_ key: String) async throws {
    let response = try await ask("PUT", key)
    guard (200..<300).contains(response.status) else {
      throw Failure(description: "PUT returned status \(response.status)")
    }
  }

  /// Reads an object from its beginning, part by part.
  /// - Returns: `false` if the object does not exist.
  func read(_ key: String, _ take: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) async throws -> Bool {
    let address = addressToFetch(key)
    var request = HTTPRequest(address.url, isAuthorized: false)
    let problem = Locked<(any Error)?>(nil)
    request.download = HTTPDownload { head in
      guard head.status == 200 else { return nil }
      return { bytes in
        guard problem.withLock({ $0 == nil }) else { return }
        do { try take(bytes) } catch { problem.withLock { $0 = error } }
      }
    }
    let response: HTTPResponse
    do throws(TransportFailure) {
      response = try await transport.send(request)
    } catch {
      if error == .cancelled { throw CancellationError() }
      throw Failure(description: "GET: \(error.message)")
    }
    if let problem = problem.withLock({ $0 }) { throw problem }
    if response.status == 404 { return false }
    guard response.status == 200 else { throw Failure(description: "GET returned status \(response.status)") }
    return true
  }

  /// Removes an object. A missing object is ignored.
  func remove(_ key: String) async throws {
    let response = try await ask("DELETE", key)
    guard [200, 202, 204, 404].contains(response.status) else {
      throw Failure(description: "DELETE returned status \(response.status)")
    }
  }

  private func ask(_ method: String, _ key: String, _ headers: [String: String] = [:]) async throws -> HTTPResponse {
    let address = address(method, key, headers: headers)
    var request = HTTPRequest(address.url, isAuthorized: false)
    request.method = method
    request.headers = headers.map { ($0.key, $0.value) }
    do throws(TransportFailure) {
      return try await transport.send(request)
    } catch {
      if error == .cancelled { throw CancellationError() }
      throw Failure(description: "\(method): \(error.message)")
    }
  }
}
