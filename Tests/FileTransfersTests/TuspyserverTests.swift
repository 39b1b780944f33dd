import CipherSQL
import Foundation
import RawNetwork
import TestSupport
import Testing
import HTTPClient
@testable import FileTransfers

/// The client against a third-party tus server. `Tests/Tus/tuspyserver` installs the server and runs these tests.
@Suite(
  .serialized,
  .enabled(
    if: ProcessInfo.processInfo.environment["TUSPYSERVER_PYTHON"] != nil, "Tests/Tus/tuspyserver runs these"))
struct TuspyserverTests {
  private let folder: TemporaryFolder
  private let content: [UInt8]
  private let metadata = [(name: "filename", value: "a \"photo\"/ü.jpg"), (name: "filetype", value: "image/jpeg")]

  init() throws {
    folder = try TemporaryFolder()
    var random = Seeded(7)
    content = (0..<600_000).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } } + [1, 2, 3]
  }

  private func source(_ content: [UInt8], isKnown: Bool = true, failsAt: Int64 = .max) -> UploadSource {
    UploadSource(byteCount: isKnown ? Int64(content.count) : nil) { offset, buffer in
      if offset >= failsAt { throw CancellationError() }
      let part = content[min(content.count, Int(offset))..<min(content.count, Int(offset) + buffer.count)]
      buffer.copyBytes(from: part)
      return part.count
    }
  }

  private func client(_ port: UInt16) throws -> TusClient {
    let address = try ServerAddress("http://127.0.0.1:\(port)")
    return TusClient(transport: HTTPTransport(address: address, token: { nil }), endpoint: "/files/")
  }

  private func stored(_ address: String?) throws -> [UInt8] {
    let name = try #require(address?.split(separator: "/").last)
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.file(String(name)))))
  }

  /// Repeats the upload until it is complete, as the worker does.
  private func upload(
    _ client: TusClient, _ source: UploadSource, from address: String? = nil, attempts: Int = 30
  ) async throws -> (result: TusResult, attempts: Int) {
    let remembered = Locked(address)
    var result: TusResult?
    for attempt in 1...attempts {
      let address = remembered.withLock { $0 }
      let next = await client.upload(
        source, metadata: metadata, address: address, chunk: result?.chunk ?? ChunkSize(),
        remember: { new in remembered.withLock { $0 = new } })
      result = next
      guard let problem = next.problem else { return (next, attempt) }
      guard case .transport = problem else { throw problem }
      // This server waits 30 s for its own request if it has not noticed the disconnect yet.
      try await Task.sleep(for: .milliseconds(200))
    }
    throw try #require(result?.problem)
  }

  @Test("Files of different sizes arrive complete") func filesArriveWhole() async throws {
    let server = try await Tuspyserver(folder)
    defer { server.stop() }
    let client = try client(server.port)
    for content in [content, Array(content[..<1]), Array(content[..<(1 << 20)])] {
      let (result, _) = try await upload(client, source(content))
      #expect(try stored(result.address) == content)
      #expect(result.server?.extensions.contains("termination") == true)
      #expect(result.offset == Int64(content.count))
    }
  }

  @Test("An upload over a link that is cut repeatedly completes", arguments: [5, 20])
  func aLinkThatIsCutAgainAndAgain(cuts: Int) async throws {
    let server = try await Tuspyserver(folder)
    let link = try CuttingLink(to: server.port, cuts: cuts, greatest: 400_000)
    defer {
      link.close()
      server.stop()
    }
    let (result, attempts) = try await upload(try client(link.port), source(content))
    #expect(link.cutsDone == cuts)
    #expect(attempts > 1)
    #expect(try stored(result.address) == content)
  }

  @Test("An upload resumes after the server was killed") func aServerThatIsKilledIsGoneOnWith() async throws {
    var server = try await Tuspyserver(folder)
    let port = server.port
    let address = Locked<String?>(nil)
    // One request succeeds. This server records its offset at the end of a request, so the test kills it between
    // two requests.
    let first = await (try client(port)).upload(
      source(content, failsAt: 1 << 20), metadata: metadata, address: nil,
      remember: { new in address.withLock { $0 = new } })
    #expect(first.problem == .unreadable && first.offset == 1 << 20)
    try await Task.sleep(for: .milliseconds(300))
    server.stop()
    let dead = await (try client(port)).upload(
      source(content), metadata: metadata, address: first.address, remember: { _ in Issue.record("it is forgotten") })
    #expect(dead.problem == .transport(.noConnection(detail: "no connection could be established")))
    server = try await Tuspyserver(folder, port: port)
    defer { server.stop() }
    let (result, _) = try await upload(try client(port), source(content), from: address.withLock { $0 })
    #expect(result.address == first.address)
    #expect(try stored(result.address) == content)
  }

  @Test("An upload that the server does not know restarts, and a finished upload can be terminated")
  func aServerThatHasForgottenEverythingGetsItAnew() async throws {
    let server = try await Tuspyserver(folder)
    defer { server.stop() }
    let client = try client(server.port)
    let (result, attempts) = try await upload(
      client, source(content), from: "http://127.0.0.1:\(server.port)/files/00000000000000000000000000000000")
    #expect(attempts == 1)
    #expect(try stored(result.address) == content)
    try await client.terminate(try #require(result.address))
    try await client.terminate(try #require(result.address))
    #expect(throws: (any Error).self) { try stored(result.address) }
  }

  @Test("A file whose length is known only at its end arrives complete")
  func aFileWhoseLengthIsKnownAtItsEndOnly() async throws {
    let server = try await Tuspyserver(folder)
    defer { server.stop() }
    let client = try client(server.port)
    for content in [content, Array(content[..<(1 << 20)])] {
      let (result, _) = try await upload(client, source(content, isKnown: false))
      #expect(try stored(result.address) == content)
    }
  }
}

/// The third-party server as a process.
private final class Tuspyserver {
  let port: UInt16
  private let process = Process()

  init(_ folder: TemporaryFolder, port: UInt16? = nil) async throws {
    let free = try RawServer(response: "")
    self.port = port ?? free.port
    free.close()
    let python = try #require(ProcessInfo.processInfo.environment["TUSPYSERVER_PYTHON"])
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = [packagePath("Tests/Tus/tuspyserver_serve.py"), String(self.port), folder.path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    guard String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).hasPrefix("ready") else {
      throw POSIXError(.ECONNREFUSED)
    }
  }

  func stop() {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
