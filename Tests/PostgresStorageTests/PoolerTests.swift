import Platform
import RestorationModel
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import PostgresStorage

/// Nodes whose database is behind PgBouncer in transaction mode.
@Suite(.serialized, .enabled(if: PostgresServer.hasPooler)) struct PoolerTests {
  private static let account = StorageConformance.accounts[0]

  /// Returns the settings of a node.
  /// - Parameter listens: whether it receives notifications, over a connection that passes by the pooler.
  private func settings(listens: Bool = true) throws -> PostgresSettings {
    let server = try SharedPostgres.server
    let database = try server.makeDatabase()
    var settings = PostgresSettings(url: try SharedPooler.url(of: database))
    (settings.isPooled, settings.connections) = (true, 6)
    if listens { settings.listenURL = server.url(database) }
    return settings
  }

  @Test("The storage keeps each guarantee of record storage through a pooler", arguments: StorageConformance.names)
  func keeps(_ name: String) async throws {
    let conformance = StorageConformance { try makeStorage(settings()) }
    try await #require(conformance.all.first { $0.name == name }).check()
  }

  @Test("No query is compiled to machine code, whatever its plan costs", arguments: [true, false])
  func compilesNothing(_ isPooled: Bool) async throws {
    var settings = try settings(listens: false)
    if !isPooled { settings = PostgresSettings(url: try SharedPostgres.server.url()) }
    let plan = try await PostgresDatabase(settings).transaction(.other) { connection in
      let query = Statement("EXPLAIN (ANALYZE) SELECT count(*) FROM information_schema.sql_features")
      let lines = try connection.begin(TransactionStatements.begin, [query()])
      _ = try connection.run(TransactionStatements.rollback())
      return lines.flatMap { $0.map { $0.text(0) } }
    }
    #expect(plan.contains { $0.contains("Seq Scan") && $0.contains("cost=10000000000") }, "\(plan)")
    #expect(!plan.contains { $0.contains("JIT") }, "\(plan)")
  }

  @Test("nodes learn of each other's changes, at once with a connection for notifications", arguments: [true, false])
  func notifications(_ listens: Bool) async throws {
    let settings = try settings(listens: listens)
    let writer = try makeStorage(settings)
    let reader = try PostgresStorage(PostgresDatabase(settings), schemas: [RestorationSchema.schema])
    defer { for node in [writer, reader] { node.close() } }
    func write() async throws {
      _ = try await writer.write(Self.account) { data in
        try data.store(
          RecordName("Project", newUuid()), over: nil, RecordState(fields: ["title": "Elm"], updatedAt: 1_000),
          createdAt: 900, at: 2_000)
      }
    }
    try await write()
    for sequence in 1...3 {
      async let told = reader.waitForChange(Self.account, after: Int64(sequence), projects: nil, seconds: 40)
      try await Task.sleep(for: .milliseconds(300))
      let start = ContinuousClock.now
      try await write()
      #expect(try await told == .changed)
      if listens { #expect(ContinuousClock.now - start < .seconds(4), "before the next query") }
    }
  }
}

/// The pooler of the server that all tests share.
private enum SharedPooler {
  private static let started = Result { try SharedPostgres.server.startPooler(to: "DATABASE") }

  static func url(of database: String) throws -> String {
    try started.get().replacing("DATABASE", with: database)
  }
}
