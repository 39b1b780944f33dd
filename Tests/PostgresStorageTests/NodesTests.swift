import CipherSQL
import Foundation
import Platform
import RestorationModel
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import PostgresStorage

/// Several nodes on one database.
@Suite(.serialized) struct NodesTests {
  private static let account = StorageConformance.accounts[0]
  private var account: AccountName { Self.account }

  private func project(_ title: String, in data: any RecordWriting) throws -> ServerRecord {
    try data.store(
      RecordName("Project", newUuid()), over: nil,
      RecordState(fields: ["title": .text(title)], updatedAt: 1_000), createdAt: 900, at: 2_000)
  }

  /// Returns several nodes on a new database.
  private func nodes(_ count: Int, on server: PostgresServer? = nil) throws -> [PostgresStorage] {
    let first = try makeStorage(on: server)
    return try [first]
      + (1..<count).map { _ in
        try PostgresStorage(
          PostgresDatabase(first.database.settings), schemas: [RestorationSchema.schema],
          log: { print("log: \($0)") })
      }
  }

  @Test("a request that waits on one node learns of a change on another")
  func notification() async throws {
    let nodes = try nodes(2)
    defer { for node in nodes { node.close() } }
    _ = try await nodes[0].write(account) { try project("first", in: $0) }
    async let told = nodes[1].waitForChange(account, after: 1, seconds: 20)
    try await Task.sleep(for: .milliseconds(400))
    let start = ContinuousClock.now
    _ = try await nodes[0].write(account) { try project("second", in: $0) }
    #expect(try await told)
    #expect(ContinuousClock.now - start < .seconds(4), "before the next query")
  }

  @Test("writers on all nodes leave no hole in the sequence, and no reader sees a change before a lower one")
  func order() async throws {
    let nodes = try nodes(3)
    defer { for node in nodes { node.close() } }
    let (writers, each) = (6, 40)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask {
          for _ in 0..<each { _ = try await nodes[writer % 3].write(account) { try project("Elm", in: $0) } }
        }
      }
      for node in nodes {
        group.addTask {
          var last: Int64 = 0
          while last < Int64(writers * each) {
            let page = try await node.read(account) { [last] in try $0.changes(after: last, limit: 7, projects: nil) }
            let numbers = page.records.map(\.sequence)
            #expect(numbers == numbers.indices.map { last + 1 + Int64($0) })
            last = page.end
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("the same operation on three nodes at once takes effect once")
  func once() async throws {
    let nodes = try nodes(3)
    defer { for node in nodes { node.close() } }
    let operation = OperationContent(key: newUuid(), operation: [:])
    let effects = Locked(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for attempt in 0..<12 {
        group.addTask {
          let isFirst = try await nodes[attempt % 3].write(account) { data in
            if try data.storedResponse(for: operation.key) != nil { return false }
            _ = try project("once", in: data)
            try data.keep(response: "{}", to: operation, at: 1)
            return true
          }
          if isFirst { effects.withLock { $0 += 1 } }
        }
      }
      try await group.waitForAll()
    }
    #expect(effects.withLock { $0 } == 1)
    #expect(try await nodes[1].read(account) { try $0.lastSequence } == 1)
  }

  @Test("writes go on after the database was killed, each acknowledged one once")
  func killedDatabase() async throws {
    let server = try PostgresServer()
    let nodes = try nodes(2, on: server)
    defer { for node in nodes { node.close() } }
    let acknowledged = Locked<Set<String>>([])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          for number in 0..<60 {
            let title = "\(writer)-\(number)"
            // A commit whose result was lost may have taken effect, so an operation has a key.
            _ = try await nodes[writer % 2].write(account) { data in
              if try data.storedResponse(for: title) != nil { return }
              _ = try project(title, in: data)
              try data.keep(response: "{}", to: OperationContent(key: title, operation: [:]), at: 1)
            }
            acknowledged.withLock { _ = $0.insert(title) }
          }
        }
      }
      group.addTask {
        for _ in 0..<3 {
          try await Task.sleep(for: .milliseconds(150))
          server.kill()
          try server.start()
        }
      }
      try await group.waitForAll()
    }
    let titles = try await nodes[0].read(account) { data in
      try data.changes(after: 0, limit: 1_000, projects: nil).records.compactMap { $0.state.fields.text("title") }
    }
    #expect(titles.count == 240)
    #expect(Set(titles) == acknowledged.withLock { $0 })
  }

  @Test("a promoted standby begins a new epoch, and a restarted primary none")
  func promotion() async throws {
    let primary = try PostgresServer()
    let database = try primary.makeDatabase()
    let standby = try PostgresServer(standbyOf: primary, name: "b")
    var settings = PostgresSettings(
      url: "host=\(primary.folder),\(standby.folder) user=fv dbname=\(database)")
    settings.connections = 4
    let storage = try makeStorage(settings)
    defer { storage.close() }
    let stored = try await storage.write(account) { try project("kept", in: $0) }
    let epochs = try await storage.read(account) { try $0.epochs }
    primary.kill()
    try primary.start()
    #expect(try await storage.read(account) { try $0.epochs } == epochs)
    try primary.sql("SELECT pg_switch_wal()")
    for _ in 0..<100 where try standby.sql("SELECT count(*) FROM fieldvault.record", database: database) != "1" {
      try await Task.sleep(for: .milliseconds(50))
    }
    primary.kill()
    try standby.promote()
    let after = try await storage.read(account) { try $0.epochs }
    #expect(after.epochs.count == epochs.epochs.count + 1 && after.epochs.first == epochs.current)
    #expect(try await storage.read(account) { try $0.record(stored.name) }?.state.fields == stored.state.fields)
    #expect(try await storage.read(account) { try $0.epochs } == after, "one new epoch for one promotion")
  }
}
