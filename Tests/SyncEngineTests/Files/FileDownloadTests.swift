import CipherSQL
import Foundation
import Testing

@testable import SyncEngine

/// Downloads over sockets.
@Suite struct FileDownloadTests {
  private let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
  private let part = NSTemporaryDirectory() + "/download-" + UUID().uuidString + ".part"

  /// A server that knows ranges; `most` bytes of each answer come, then the connection ends.
  private func server(_ content: [UInt8], most: Int = .max) throws -> RawServer {
    try RawServer { request, connection in
      let start = request.headers["range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
      let isSame = request.headers["if-range"].map { $0 == "\"1\"" } ?? true
      if isSame, start >= content.count, start > 0 {
        return connection.send(answer("", status: "416 No", headers: ["Content-Range: bytes */\(content.count)"]))
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
      "/v1/files/1/full", into: try PartFile(part), tag: tag,
      verify: { (try? Data(contentsOf: URL(fileURLWithPath: part))) == Data(content) })
  }

  @Test func aDownloadThatIsCutAgainAndAgainGoesOn() async throws {
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
    // Once more: all of it is here.
    #expect(try await fetch(server) == Int64(content.count))
  }

  @Test func whatIsOfAnotherFileBeginsAnew() async throws {
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

  @Test func whatIsNotWhatItShouldBeIsNotKept() async throws {
    let server = try server([UInt8](repeating: 1, count: 5000))
    defer {
      server.close()
      unlink(part)
    }
    await #expect(throws: DownloadProblem.damaged) { try await fetch(server) }
    #expect(try here().isEmpty)
    #expect(server.requests.count == 2)
  }

  @Test func aPageForPeopleIsNoFileAndHarmsNothing() async throws {
    let server = try RawServer(answering: answer("<html>", type: "text/html"))
    defer {
      server.close()
      unlink(part)
    }
    try Data([1, 2, 3]).write(to: URL(fileURLWithPath: part))
    await #expect(throws: DownloadProblem.self) { try await fetch(server) }
    #expect(try here() == [1, 2, 3])
  }

  @Test func anEmptyFileIsAFile() async throws {
    let server = try server([])
    defer {
      server.close()
      unlink(part)
    }
    let size = try await FileDownload(transport: try transport(server)).fetch("/f", into: try PartFile(part))
    #expect(size == 0)
  }

  @Test func aPlaceThatCannotBeWrittenIsReported() async throws {
    let server = try server(content)
    defer { server.close() }
    let download = FileDownload(transport: try transport(server))
    await #expect(throws: DownloadProblem.notWritten) {
      try await download.fetch("/f", into: try PartFile("/nowhere/at/all.part"))
    }
  }
}
