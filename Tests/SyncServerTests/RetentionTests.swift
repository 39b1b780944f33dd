import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing

@testable import SyncServer

@Suite struct RetentionTests {
  private static let day: Int64 = 86_400_000

  @Test("The time of retention is stored, begins at the last change, and never follows a clock that jumps")
  func storedTime() throws {
    let temporary = try TemporaryFolder()
    let folder = try ServerFolder(temporary.path + "/data", isCreating: true)
    let start: Int64 = 1_767_225_600_000
    do {
      let directory = try ServerDirectory(in: folder)
      defer { directory.close() }
      let clock = try ServerClock(directory)
      #expect(clock.needsBeginning && clock.storing(at: 7) == 7)
      clock.begin(largestStored: start, wall: start + 100 * Self.day)
      #expect(try clock.advance(wall: start + 100 * Self.day).now < start + Self.day)
      #expect(clock.storing(at: 7) >= start)
    }
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    let clock = try ServerClock(directory)
    #expect(!clock.needsBeginning)
    #expect(try clock.advance(wall: start + 100 * Self.day).now < start + Self.day)
  }

  @Test("Data without a time of retention begin at the last answer or deletion that they store")
  func largestStoredTime() async throws {
    let server = try TestServer()
    let client = try server.client("ada")
    let uuid = Operation.newUuid()
    let account = try #require(try server.withDirectory { try $0.accounts() }.first)
    #expect(try await server.server.storage.read(account) { try $0.largestStoredTime } == nil)
    let before = Date.nowInMilliseconds().milliseconds
    #expect(try await client.results([Operation.create("Project", uuid, ["title": "Dam"])]) == ["accepted"])
    let found = try await server.server.storage.read(account) { try $0.largestStoredTime }
    #expect(try #require(found) >= before)
    await server.server.stop()
  }
}
