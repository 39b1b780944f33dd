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
    async let told = nodes[1].waitForChange(account, after: 1, projects: nil, seconds: 20)
    try await Task.sleep(for: .milliseconds(400))
    let start = ContinuousClock.now
    _ = try await nodes[0].write(account) { try project("second", in: $0) }
    #expect(try await told == .changed)
    #expect(ContinuousClock.now - start < .seconds(4), "before the next query")
  }

  @Test("a node without notifications learns of the projects of changes by its queries")
  func queries() async throws {
    let writer = try nodes(1)[0]
    var settings = writer.database.settings
    settings.listenURL = "host=/nowhere"
    let reader = try PostgresStorage(PostgresDatabase(settings), schemas: [RestorationSchema.schema])
    defer { for node in [writer, reader] { node.close() } }
    let own = try await writer.write(account) { try project("own", in: $0) }.name.entityUuid
    let other = try await writer.write(account) { try project("other", in: $0) }.name.entityUuid
    func room(_ project: String) async throws -> Int64 {
      try await writer.write(account) { data in
        try data.store(
          RecordName("Room", newUuid()), over: nil,
          RecordState(fields: ["projectId": .text(project), "title": "Hall"], updatedAt: 1_000), createdAt: 900,
          at: 2_000
        ).sequence
      }
    }
    async let told = reader.waitForChange(account, after: 2, projects: [own], seconds: 40)
    async let untold = reader.waitForChange(account, after: 2, projects: [other], seconds: 14)
    // The first query has to know the account.
    try await Task.sleep(for: .seconds(6))
    let last = try await room(own)
    #expect(try await told == .changed)
    #expect(try await untold == .unchanged(until: last))
    async let epoch = reader.waitForChange(account, after: last, projects: [other], seconds: 40)
    try await Task.sleep(for: .milliseconds(200))
    _ = try await writer.write(account) { try $0.startEpoch(at: 3_000) }
    #expect(try await epoch == .changed)
  }

  @Test("the query for lost notifications tells no device of its own changes", arguments: [0, 1])
  func ownChanges(_ place: Int) async throws {
    let nodes = try nodes(2)
    defer { for node in nodes { node.close() } }
    let first = try await nodes[0].write(account) { try project("first", in: $0) }.sequence
    let (tablet, start) = (newUuid(), ContinuousClock.now)
    // The author keeps its position and waits on the node with the change, or on another.
    async let author = nodes[place].waitForChange(account, after: first, projects: nil, device: tablet, seconds: 14)
    try await Task.sleep(for: .seconds(6))
    let own = try await nodes[0].write(account) { data in
      try data.keep(DeviceCounter(counter: 1, digest: ""), of: tablet, at: 1)
      return try project("own", in: data)
    }
    #expect(own.sequence == first + 1)
    #expect(try await author == .changed, "at the end of its time, the request looks for all changes")
    #expect(ContinuousClock.now - start > .seconds(13), "not before")
  }

  @Test("writers on all nodes leave no hole in the sequence, and no reader sees a change before a lower one")
  func order() async throws {
    let nodes = try nodes(3)
    defer { for node in nodes { node.close() } }
    // `scripts/long` sets a million changes.
    let count = ProcessInfo.processInfo.environment["FIELDVAULT_TEST_CHANGES"].flatMap(Int.init) ?? 720
    let (writers, perWrite) = (6, max(3, count / 10_000))
    let each = count / writers / perWrite
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask {
          for _ in 0..<each {
            try await nodes[writer % 3].write(account) { data in
              for _ in 0..<perWrite { _ = try project("Elm", in: data) }
            }
          }
        }
      }
      for node in nodes {
        group.addTask {
          var last: Int64 = 0
          while last < Int64(writers * each * perWrite) {
            try Task.checkCancellation()
            let page = try await node.read(account) { [last] in
              try $0.changes(after: last, limit: max(7, count / 2_000), projects: nil)
            }
            let numbers = page.records.map(\.sequence)
            #expect(numbers == numbers.indices.map { last + 1 + Int64($0) })
            last = page.end
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("writes of an account that wait share transactions, and one that fails takes no other with it")
  func sharedCommits() async throws {
    let storage = try makeStorage()
    defer { storage.close() }
    let first = try await storage.write(account) { try project("first", in: $0) }
    // The first of the writes waits for this lock, and the others for it.
    let lock = try PostgresConnection(storage.database.settings, clock: .system)
    _ = try lock.run([
      TransactionStatements.begin(),
      Statement("SELECT FROM fieldvault.account WHERE account_id = $1::uuid FOR UPDATE")(AccountRow.key(account)),
    ])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<24 {
        group.addTask {
          if [3, 11].contains(number) {
            await #expect(throws: Refused.self) {
              try await storage.write(account) { data in
                _ = try project("refused", in: data)
                throw Refused()
              }
            }
          } else {
            _ = try await storage.write(account) { try project("\(number)", in: $0) }
          }
        }
      }
      group.addTask {
        try await Task.sleep(for: .milliseconds(300))
        _ = try lock.run(TransactionStatements.rollback())
      }
      try await group.waitForAll()
    }
    let titles = try await storage.read(account) { data in
      try data.changes(after: first.sequence, limit: 100, projects: nil).records.compactMap {
        try $0.content.complete().state.fields.text("title")
      }
    }
    #expect(titles.count == 22 && Set(titles) == Set((0..<24).filter { ![3, 11].contains($0) }.map(String.init)))
    // The transactions without the refused writes: at least one that eight writes share.
    let sizes = try lock.run(
      Statement("SELECT count(*) FROM fieldvault.record WHERE account_id = $1::uuid GROUP BY xmin")(
        AccountRow.key(account))
    ).map { $0.integer(0) }
    #expect(sizes.contains { $0 > 1 }, "\(sizes)")
  }

  private struct Refused: Error {}

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

  @Test("a node continues the jobs that another one has left, also without a request")
  func abandonedJobs() async throws {
    let first = try makeStorage()
    let (name, rooms) = try await first.write(account) { data in
      let parent = try project("Elm", in: data)
      let rooms = try (0..<3).map { number in
        try data.store(
          RecordName("Room", newUuid()), over: nil,
          RecordState(
            fields: ["projectId": .text(parent.name.entityUuid), "title": .text("Room \(number)")], updatedAt: 1_000),
          createdAt: 900, at: 2_000
        ).name
      }
      // A deletion whose dependents do not follow: the node ends before its jobs begin.
      let state = parent.state.applying(RecordPatch(isDeleted: true, updatedAt: 2_000))
      return (try data.store(parent.name, over: parent, state, createdAt: 900, at: 2_000).name, rooms)
    }
    first.close()
    let connection = try PostgresConnection(first.database.settings, clock: .system)
    _ = try connection.run(
      Statement(
        """
        INSERT INTO fieldvault.job (account_id, number, kind, entity_type, entity_uuid, reference, time)
        VALUES ($1::uuid, 1, 'cascade', $2::text, $3::text, 0, 2000)
        """)(AccountRow.key(account), .text(name.entityType), .text(name.entityUuid)))
    // A node whose pauses are short.
    let system = Clock.system
    let hasty = Clock(now: system.now, instant: system.instant) { end in
      try await system.sleep((end - system.instant()) / 50)
    }
    let second = try PostgresStorage(
      PostgresDatabase(first.database.settings, environment: Environment(clock: hasty, random: .system)),
      schemas: [RestorationSchema.schema])
    defer { second.close() }
    try await eventually("the rooms are deleted") {
      try await second.read(account) { data in
        try !data.hasJobs && rooms.allSatisfy { try data.record($0)?.state.isDeleted == true }
      }
    }
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
      try data.changes(after: 0, limit: 1_000, projects: nil).records.compactMap {
        try $0.content.complete().state.fields.text("title")
      }
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

  @Test("an incarnation that an operator starts begins one new epoch, also if a node from before it still runs")
  func startedIncarnation() async throws {
    let old = try nodes(1)[0]
    _ = try await old.write(account) { try project("kept", in: $0) }
    let before = try await old.read(account) { try $0.epochs.epochs.count }
    #expect(try PostgresDirectory(old.database).startIncarnation() == StorageConformance.accounts.count)
    let new = try PostgresStorage(PostgresDatabase(old.database.settings), schemas: [RestorationSchema.schema])
    defer { for node in [old, new] { node.close() } }
    for _ in 0..<3 {
      for node in [new, old] {
        #expect(try await node.read(account) { try $0.epochs.epochs.count } == before + 1)
        _ = try await node.write(account) { try project("more", in: $0) }
      }
    }
  }

  @Test("a node with newer schema files gives them to an account, and an older node refuses it from then on")
  func rollingUpgrade() async throws {
    let first = MigrationFile(
      version: 1, name: "things", sql: SyncedTable.sql("Thing", "title TEXT NOT NULL", schema: "things"))
    let second = MigrationFile(
      version: 2, name: "colours", sql: "ALTER TABLE Thing ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';")
    let old = try makeStorage(schemas: [Schema(name: "things", migrations: [first])])
    let new = try PostgresStorage(
      PostgresDatabase(old.database.settings), schemas: [Schema(name: "things", migrations: [first, second])])
    defer {
      old.close()
      new.close()
    }
    let name = RecordName("Thing", newUuid())
    _ = try await old.write(account) { data in
      let state = RecordState(fields: ["title": "Chair"], updatedAt: 1)
      return try data.store(name, over: nil, state, createdAt: 1, at: 1)
    }
    #expect(try await new.read(account) { try $0.record(name) }?.state.fields["colour"] == "red")
    let refused = await #expect(throws: ServerError.self) { try await old.read(account) { try $0.lastSequence } }
    #expect(refused?.code == .busy)
    #expect(try await old.read(StorageConformance.accounts[1]) { try $0.lastSequence } == 0, "another account")
  }

  @Test("the rows that a push reads do not grow with the records of its account")
  func rowsOfPush() async throws {
    let server = try PostgresServer()
    let storage = try makeStorage(on: server)
    defer { storage.close() }
    let name = try await storage.write(account) { try project("first", in: $0) }.name
    let database = try #require(storage.database.settings.url.split(separator: "=").last.map(String.init))
    func rowsRead() async throws -> Int {
      // A session reports its statistics at most once a second.
      try await Task.sleep(for: .milliseconds(1_200))
      _ = try await storage.read(account) { try $0.lastSequence }
      try await Task.sleep(for: .milliseconds(200))
      return Int(
        try server.sql(
          """
          SELECT coalesce(sum(idx_tup_read), 0)
            + (SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables WHERE schemaname = 'fieldvault')
          FROM pg_stat_user_indexes WHERE schemaname = 'fieldvault'
          """, database: database)) ?? 0
    }
    func rowsOfPush() async throws -> Int {
      let before = try await rowsRead()
      _ = try await storage.write(account) { data in
        try data.prepare([OperationOutline(key: newUuid(), record: name)])
        let known = try #require(try data.record(name))
        let state = known.state.applying(RecordPatch(fields: ["title": .text(newUuid())], updatedAt: 2_000))
        _ = try data.store(name, over: known, state, createdAt: 900, at: 2_000)
        _ = try project("another", in: data)
        try data.keep(response: "{}", to: OperationContent(key: newUuid(), operation: [:]), at: 1)
        try data.keep(DeviceCounter(counter: 1, digest: ""), of: "tablet", at: 1)
      }
      return try await rowsRead() - before
    }
    _ = try await rowsOfPush()
    let few = try await rowsOfPush()
    try server.sql(
      """
      INSERT INTO fieldvault.record SELECT account_id, sequence + n, entity_type, gen_random_uuid()::text, server_id + n, version,
        first_version, false, false, NULL, NULL, gen_random_uuid()::text, digest, created_at, updated_at, stored_at, fields,
        user_edited_fields, edit_times, field_versions, start_versions, service_fields, keys
      FROM (SELECT * FROM fieldvault.record ORDER BY sequence DESC LIMIT 1) AS last, generate_series(1, 100000) AS n;
      INSERT INTO fieldvault.response SELECT account_id, gen_random_uuid()::text, result, digest, stored_at
      FROM (SELECT * FROM fieldvault.response LIMIT 1) AS one, generate_series(1, 100000);
      UPDATE fieldvault.account SET last_sequence = last_sequence + 100000;
      UPDATE fieldvault.counter SET last_id = last_id + 100000;
      """, database: database)
    let many = try await rowsOfPush()
    #expect(few > 0 && many <= few + 10, "\(few) rows with few records, \(many) with 100,000")
  }
}
