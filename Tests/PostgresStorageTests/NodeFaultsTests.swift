import Foundation
import Platform
import RestorationModel
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import PostgresStorage

/// Nodes whose database stops, is full, is out of connections, or loses its connections.
@Suite(.serialized) struct NodeFaultsTests {
  private static let accounts = StorageConformance.accounts
  private var account: AccountName { Self.accounts[0] }

  private func project(_ title: String, in data: any RecordWriting) throws -> ServerRecord {
    try data.store(
      RecordName("Project", newUuid()), over: nil,
      RecordState(fields: ["title": .text(title)], updatedAt: 1_000), createdAt: 900, at: 2_000)
  }

  /// Writes a project under a key, once.
  private func write(_ title: String, _ storage: PostgresStorage) async throws {
    _ = try await storage.write(account) { data in
      if try data.storedResponse(for: title) != nil { return }
      _ = try project(title, in: data)
      try data.keep(response: "{}", to: OperationContent(key: title, operation: [:]), at: 1)
    }
  }

  private func titles(_ storage: PostgresStorage) async throws -> [String] {
    try await storage.read(account) { data in
      try data.changes(after: 0, limit: 1_000, projects: nil).records.compactMap {
        try $0.content.complete().state.fields.text("title")
      }
    }
  }

  @Test("a stopped database delays writes, and each takes effect once", arguments: [(5, 1_500), (1, 8_000)])
  func stoppedDatabase(_ statementSeconds: Int, _ milliseconds: Int) async throws {
    let server = try PostgresServer()
    var settings = PostgresSettings(url: server.url(try server.makeDatabase()))
    // A connection is given up five seconds after the time for a statement.
    (settings.connections, settings.statementSeconds) = (4, statementSeconds)
    let storage = try makeStorage(settings)
    defer { storage.close() }
    try await write("before", storage)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 {
        group.addTask { for number in 0..<20 { try await write("\(writer)-\(number)", storage) } }
      }
      group.addTask {
        try await Task.sleep(for: .milliseconds(30))
        try server.signalAll(SIGSTOP)
        try await Task.sleep(for: .milliseconds(milliseconds))
        try server.signalAll(SIGCONT)
      }
      try await group.waitForAll()
    }
    let titles = try await titles(storage)
    #expect(titles.count == 61 && Set(titles).count == 61)
  }

  @Test("requests beyond the connections wait, and fail as busy after the limit, while others go on")
  func exhaustedPool() async throws {
    let server = try SharedPostgres.server
    var settings = PostgresSettings(url: server.url(try server.makeDatabase()))
    (settings.connections, settings.lockSeconds, settings.retrySeconds) = (2, 2, 1)
    let storage = try makeStorage(settings)
    defer { storage.close() }
    try await write("first", storage)
    _ = try await storage.read(Self.accounts[1]) { try $0.lastSequence }
    // Both connections are in use until the test lets them go.
    let isHeld = Locked(true)
    let holders = (0..<2).map { number in
      Task {
        try await storage.database.pool.withConnection(.reading(Self.accounts[number])) { _ in
          while isHeld.withLock({ $0 }) { usleep(10_000) }
        }
      }
    }
    try await Task.sleep(for: .milliseconds(100))
    let refused = await #expect(throws: ServerError.self) { try await write("refused", storage) }
    #expect(refused?.code == .busy)
    async let later: Void = write("later", storage)
    try await Task.sleep(for: .milliseconds(300))
    isHeld.withLock { $0 = false }
    try await later
    for holder in holders { try await holder.value }
    #expect(try await titles(storage) == ["first", "later"])
  }

  @Test("a change is told although the connection for notifications was cut just before it")
  func cutListening() async throws {
    let server = try PostgresServer()
    let database = try server.makeDatabase()
    var settings = PostgresSettings(url: server.url(database))
    settings.connections = 4
    let writer = try makeStorage(settings)
    let reader = try PostgresStorage(PostgresDatabase(settings), schemas: [RestorationSchema.schema])
    defer { for node in [writer, reader] { node.close() } }
    try await write("first", writer)
    // `scripts/long` cuts it a thousand times.
    let cuts = ProcessInfo.processInfo.environment["FIELDVAULT_TEST_CUTS"].flatMap(Int.init) ?? 20
    for round in 1...cuts {
      async let told = reader.waitForChange(account, after: Int64(round), projects: nil, seconds: 30)
      try server.sql(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = '\(database)' AND query = 'LISTEN fieldvault'
        """)
      if round % 2 == 0 { try await Task.sleep(for: .milliseconds(20 * (round % 20))) }
      try await write("\(round)", writer)
      #expect(try await told == .changed, "round \(round)")
    }
  }

  @Test(
    "a full disk refuses a write with the cause, leaves nothing of it, and later writes succeed", .enabled(if: canMount)
  )
  func fullDisk() async throws {
    let server = try PostgresServer()
    let disk = server.folder + "/disk"
    try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
    try run("/bin/mount", ["-t", "tmpfs", "-o", "size=24m,mode=777", "tmpfs", disk])
    defer { try? run("/bin/umount", ["-l", disk]) }
    try run("/bin/chown", ["postgres", disk])
    try server.sql("CREATE TABLESPACE small LOCATION '\(disk)'")
    try server.sql("CREATE DATABASE small TABLESPACE small")
    let storage = try makeStorage(PostgresSettings(url: server.url("small")))
    defer { storage.close() }
    try await write("before", storage)
    // Text that PostgreSQL cannot compress.
    let filling = disk + "/filling"
    var size = 24 << 20
    while size >= 4_096 {
      do { try Data(count: size).append(to: filling) } catch { size /= 2 }
    }
    var refused: ServerError?
    for number in 0..<400 where refused == nil {
      do {
        let notes = (0..<20).map { _ in newUuid() }.joined()
        try await write("\(number) \(notes)", storage)
      } catch let error as ServerError {
        refused = error
      }
    }
    #expect(refused?.code == .disk, "\(String(describing: refused))")
    let stored = try await titles(storage)
    try FileManager.default.removeItem(atPath: filling)
    try await write("after", storage)
    #expect(try await titles(storage) == stored + ["after"])
  }

  /// Whether this process may mount a disk of a fixed size.
  private static let canMount = getuid() == 0 && mountsInMemory

  private static var mountsInMemory: Bool {
    let folder = NSTemporaryDirectory() + "fieldvault-mount-" + newUuid()
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      try run("/bin/mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder])
      try run("/bin/umount", [folder])
      return true
    } catch {
      return false
    }
  }

  private static func run(_ program: String, _ arguments: [String]) throws {
    let process = try Process.run(URL(filePath: program), arguments: arguments)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Unexpected("\(program) ends with \(process.terminationStatus)") }
  }

  private func run(_ program: String, _ arguments: [String]) throws { try Self.run(program, arguments) }
}

extension Data {
  /// Appends the data to a file, which is created at first.
  fileprivate func append(to path: String) throws {
    if !FileManager.default.fileExists(atPath: path) { FileManager.default.createFile(atPath: path, contents: nil) }
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    defer { try? file.close() }
    try file.seekToEnd()
    try file.write(contentsOf: self)
    try file.synchronize()
  }
}
