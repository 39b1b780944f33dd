import Foundation
import SyncModel
import HTTPClient
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// A third-party object store (PyPI moto) as a process, optionally behind a gate that refuses the requests that S3 refuses.
/// `Tests/S3/run` installs it and runs the tests that need it.
package final class ObjectStoreProcess: Sendable {
  package static let bucket = "photos"
  package static let accessKeyId = "AKIDEXAMPLE"
  package static let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
  package static let region = "eu-central-1"

  /// Whether it is installed.
  package static var isThere: Bool { python != nil }
  private static var python: String? { ProcessInfo.processInfo.environment["S3_PYTHON"] }

  package let port: UInt16
  private let process = Process()
  private let transport: HTTPTransport

  package init(isPlain: Bool = false, port: UInt16 = 0) throws {
    guard let python = Self.python else { throw POSIXError(.ENOENT) }
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments =
      [packagePath("Tests/S3/serve.py"), String(port), Self.bucket, Self.accessKeyId, Self.secret, Self.region]
      + (isPlain ? ["--plain"] : [])
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard line.hasPrefix("ready "), let number = UInt16(line.dropFirst(6).filter(\.isNumber)) else {
      throw POSIXError(.ECONNREFUSED)
    }
    self.port = number
    transport = HTTPTransport(address: try ServerAddress("http://127.0.0.1:\(number)")) { nil }
  }

  deinit { stop() }

  package var url: String { "http://127.0.0.1:\(port)" }

  /// Ends it, with all that it has.
  package func stop() {
    guard process.isRunning else { return }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Returns the requests, refusals and objects of the store, after applying the new behaviour.
  @discardableResult
  package func gate(_ wish: SyncValue? = nil) async throws -> SyncValue {
    let response = try await transport.send(HTTPRequest("/gate", body: wish?.jsonBytes, isAuthorized: false))
    return try SyncValue(parsing: response.body)
  }

  /// The keys of its objects.
  package func objects() async throws -> [String] { Self.texts(try await gate(), "objects") }

  /// With which words it has refused requests.
  package func refusals() async throws -> [String] { Self.texts(try await gate(), "refused") }

  /// How many requests of a method there were.
  package func count(_ method: String) async throws -> Int {
    guard case .object(let state) = try await gate(), case .object(let counts)? = state["counts"],
      case .integer(let count)? = counts[method]
    else { return 0 }
    return Int(count)
  }

  private static func texts(_ state: SyncValue, _ name: String) -> [String] {
    guard case .object(let object) = state, case .array(let elements)? = object[name] else { return [] }
    return elements.compactMap { if case .text(let text) = $0 { text } else { nil } }
  }
}
