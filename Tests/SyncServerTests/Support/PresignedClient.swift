import Foundation
import HTTPClient
import RawNetwork
import SyncModel
import TestSupport

@testable import FileServer

/// Sends and fetches files by the addresses of an object store, as a device without any rules.
enum PresignedClient {
  /// Returns the store of a process.
  static func store(
    _ process: ObjectStoreProcess, addressSeconds: Int = ObjectStore.usualAddressSeconds
  ) throws -> ObjectStore {
    var secret = Array(ObjectStoreProcess.secret.utf8)
    return try ObjectStore(
      endpoint: process.url, bucket: ObjectStoreProcess.bucket, region: ObjectStoreProcess.region,
      credentials: ObjectStoreCredentials(accessKeyId: ObjectStoreProcess.accessKeyId, wipingSecret: &secret),
      addressSeconds: addressSeconds)
  }

  /// Requests the address for the upload of a content.
  static func ask(
    _ client: TestClient, _ bytes: [UInt8], type: String = "image/jpeg", as content: String
  ) async throws -> JSONResponse {
    try await client.request(
      "POST", "/v1/files/\(content)/full/address",
      ["bytes": .integer(Int64(bytes.count)), "sha256": .text(digest(bytes)), "contentType": .text(type)])
  }

  static func digest(_ bytes: [UInt8]) -> String {
    var digest = SHA256()
    bytes.withUnsafeBytes { digest.add($0) }
    return Data(digest.digest).base64EncodedString()
  }

  /// Sends a file to an address with its headers, except for changes by a test.
  static func send(
    _ address: JSONResponse, _ bytes: [UInt8], _ change: (inout [String: String]) -> Void = { _ in }
  ) async throws -> HTTPResponse {
    let parsed = try FileAddress(wire: address.json)
    var headers = parsed.headers
    change(&headers)
    var request = HTTPRequest(parsed.url, isAuthorized: false)
    request.method = parsed.method
    request.headers = headers.map { ($0.key, $0.value) }
    request.upload = HTTPUpload(byteCount: Int64(bytes.count)) { offset, buffer in
      let part = bytes[Int(offset)..<min(bytes.count, Int(offset) + buffer.count)]
      buffer.copyBytes(from: part)
      return part.count
    }
    return try await transport(parsed.url).send(request)
  }

  static func transport(_ url: String) throws -> HTTPTransport {
    HTTPTransport(address: try ServerAddress("http://127.0.0.1:\(URLComponents(string: url)?.port ?? 0)")) { nil }
  }
}
