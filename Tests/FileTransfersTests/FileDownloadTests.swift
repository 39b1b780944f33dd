import CipherSQL
import Foundation
import RawNetwork
import SealedFiles
import TestSupport
import Testing
import HTTPClient
@testable import FileTransfers

/// Downloads over sockets.
@Suite struct FileDownloadTests {
  private let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
  private let folder: TemporaryFolder
  private var part: String { folder.file("download.part") }

  init() throws { folder = try TemporaryFolder() }

  /// Returns a server that supports ranges. It sends at most `most` bytes per response and then closes the
  /// connection.
  private func server(_ content: [UInt8], most: Int = .max) throws -> RawServer {
    try RawServer { request, connection in
      let start = request.headers["range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
      let isSame = request.headers["if-range"].map { $0 == "\"1\"" } ?? true
      if isSame, start >= content.count, start > 0 {
        return connection.send(responseText("", status: "416 No", headers: ["Content-Range: bytes */\(content.count)"]))
      }
      let from = isSame ? start : 0
      let status = from > 0 ? "206 Partial Content" : "200 OK"
      let range = from > 0 ? "Content-Range: bytes \(from)-\(content.count - 1)/\(content.count)\r\n" : ""
      connection.send("HTTP/1.1 \(status)\r\nETag: \"1\"\r\n\(range)Content-Length: \(content.count - from)\r\n\r\n")
      let end = min(content.count, most == .max ? .max : from + most)
      return connection.send(content[from..<end]) && end == content.count
    }
  }

  private func here() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: part))) }

  private func fetch(_ server: RawServer, tag: String? = nil) async throws -> Int64 {
    let (content, part) = (content, part)
    return try await FileDownload(transport: try transport(server)).fetch(
      HTTPRequest("/v1/files/1/full"), into: try PartFile(part), tag: tag,
      verify: { (try? Data(contentsOf: URL(fileURLWithPath: part))) == Data(content) })
  }

  /// A captive portal cannot influence the state of a file.
  @Test("An HTML page of a captive portal does not count as a response of the server", arguments: [200, 403, 404, 502])
  func captivePortalPageIsNotAResponse(status: Int) async throws {
    let server = try RawServer { _, connection in
      connection.send(responseText("<p>Log in</p>", status: "\(status) X", headers: ["Content-Type: text/html"]))
    }
    defer {
      server.close()
      unlink(part)
    }
    await #expect {
      _ = try await fetch(server)
    } throws: { error in
      guard case .transport(.notTheServer)? = error as? DownloadProblem else { return false }
      return true
    }
    let files = FieldVaultFiles(transport: try transport(server))
    let sealing = try Self.sealing()
    await #expect {
      try await files.fetch(Self.name, into: part, sealing) { _, _ in }
    } throws: { error in
      guard case .transport(.notTheServer)? = error as? DownloadProblem else { return false }
      return true
    }
  }

  private static let name = FileName(contentUuid: "0195b2c0-0000-7000-8000-0000000000aa", variant: .full)

  private static func sealing() throws -> ContentSealing {
    ContentSealing(
      key: try .random(), identity: try SealedFileIdentity(contentUuid: name.contentUuid, variant: .full))
  }

  /// The process died after the last byte arrived and before the completion was recorded. The server stores the
  /// file unencrypted. The device must not continue the download as if the server's file were encrypted.
  @Test("A complete file is not requested again, and a truncated file is fetched without plaintext on disk")
  func whatIsWholeIsNotAskedForAgain() async throws {
    let server = try server(content)
    defer {
      server.close()
      unlink(part)
    }
    let files = FieldVaultFiles(transport: try transport(server))
    let sealing = try Self.sealing()
    try await files.fetch(Self.name, into: part, sealing) { _, _ in }
    let sealed = try here()
    let requests = server.requests.count
    try await files.fetch(Self.name, into: part, sealing) { _, _ in }
    #expect(server.requests.count == requests)
    #expect(try here() == sealed)
    // A truncated file must not lead to plaintext on disk.
    try Data(sealed[..<200_000]).write(to: URL(fileURLWithPath: part))
    try await files.fetch(Self.name, into: part, sealing) { _, _ in }
    #expect(try here().count == sealed.count)
    #expect(try Data(here()).range(of: Data(content[250_000..<250_100])) == nil)
  }

  @Test("A download that is cut repeatedly resumes each time")
  func aDownloadThatIsCutAgainAndAgainGoesOn() async throws {
    let server = try server(content, most: 40_000)
    defer {
      server.close()
      unlink(part)
    }
    var cuts = 0
    while true {
      do {
        #expect(try await fetch(server) == Int64(content.count))
        break
      } catch let problem as DownloadProblem {
        guard case .transport = problem else { throw problem }
        cuts += 1
        #expect(try here() == Array(content[..<(40_000 * cuts)]))
      }
    }
    #expect(cuts == 7)
    #expect(server.requests.count == 8)
    #expect(try here() == content)
    // Another fetch finds the complete file.
    #expect(try await fetch(server) == Int64(content.count))
  }

  @Test("A partial file of another version or with other bytes is replaced")
  func whatIsOfAnotherFileBeginsAnew() async throws {
    let server = try server(content)
    defer {
      server.close()
      unlink(part)
    }
    for (here, tag) in [
      (Array(content[..<1000]), "\"0\""), ([UInt8](repeating: 9, count: 500), nil), (content + [1], nil),
    ] {
      try Data(here).write(to: URL(fileURLWithPath: part))
      #expect(try await fetch(server, tag: tag) == Int64(content.count))
      #expect(try self.here() == content)
    }
  }

  @Test("A file that fails verification twice is reported as damaged, and its bytes are removed")
  func whatIsNotWhatItShouldBeIsNotKept() async throws {
    let server = try server([UInt8](repeating: 1, count: 5000))
    defer {
      server.close()
      unlink(part)
    }
    await #expect(throws: DownloadProblem.damaged) { try await fetch(server) }
    #expect(try here().isEmpty)
    #expect(server.requests.count == 2)
  }

  @Test("An HTML page fails the download and leaves the partial file unchanged")
  func aPageForPeopleIsNoFileAndHarmsNothing() async throws {
    let server = try RawServer(response: responseText("<html>", type: "text/html"))
    defer {
      server.close()
      unlink(part)
    }
    try Data([1, 2, 3]).write(to: URL(fileURLWithPath: part))
    await #expect(throws: DownloadProblem.self) { try await fetch(server) }
    #expect(try here() == [1, 2, 3])
  }

  @Test("An empty file downloads successfully") func anEmptyFileIsAFile() async throws {
    let server = try server([])
    defer {
      server.close()
      unlink(part)
    }
    let size = try await FileDownload(transport: try transport(server)).fetch(
      HTTPRequest("/f"), into: try PartFile(part))
    #expect(size == 0)
  }

  @Test("A path that cannot be written is reported") func aPlaceThatCannotBeWrittenIsReported() async throws {
    let server = try server(content)
    defer { server.close() }
    let download = FileDownload(transport: try transport(server))
    await #expect(throws: DownloadProblem.notWritten) {
      try await download.fetch(HTTPRequest("/f"), into: try PartFile("/nowhere/at/all.part"))
    }
  }
}
