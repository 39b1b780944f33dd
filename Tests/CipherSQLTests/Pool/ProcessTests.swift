import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

@testable import CipherSQL

// The method of the same name hides it.
private let signalProcess: @Sendable (pid_t, Int32) -> Int32 = { kill($0, $1) }

/// A shell with the file open. Tests write commands to it and read its output.
private final class Shell {
  static let path: String? = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .map { $0 + "/sqlcipher" }.first { FileManager.default.isExecutableFile(atPath: $0) }

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var unread = Data()

  init(_ vault: TemporaryVault) throws {
    let path = try #require(Self.path)
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = ["-batch", vault.path]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let digits = try vault.key.withKeyBytes { key in key.map { String(format: "%02x", $0) }.joined() }
    try send("PRAGMA key = \"x'\(digits)'\";")
    try send(".timeout 60000")
  }

  func send(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

  /// Reads until the shell has written a line.
  func wait(for line: String) throws {
    while true {
      while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        let next = String(decoding: unread[..<end], as: UTF8.self)
        unread.removeSubrange(...end)
        if next == line { return }
      }
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else {
        throw SQLError(.other, "the shell ended without '\(line)'")
      }
      unread.append(more)
    }
  }

  func kill() {
    _ = signalProcess(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Ends the shell and waits for it.
  func finish() throws {
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }
}

/// Another process, the `sqlcipher` shell, works on the same file.
@Suite(.timeLimit(.minutes(20)), .enabled(if: Shell.path != nil, "there is no sqlcipher in the PATH"))
struct ProcessTests {
  private func vault() throws -> TemporaryVault {
    try TemporaryVault(key: try #require(PlainKey((0..<32).map { UInt8($0 * 7 + 1) })))
  }

  private func titles(_ database: Database) throws -> [String] {
    try database.read { try $0.fetch("SELECT title FROM OfflineProject ORDER BY projectId", as: String.self) }
  }

  @Test("The sqlcipher shell reads committed writes, and its writes are visible here")
  func theShellReadsWhatWasWritten() throws {
    let vault = try vault()
    let database = try vault.openHouse()
    let shell = try Shell(vault)
    try shell.send("SELECT group_concat(title) FROM OfflineProject;")
    try shell.wait(for: "Mill Lane,Harbour")
    try shell.send("INSERT INTO OfflineProject (uuid, title) VALUES ('shell', 'Quay'); SELECT 'done';")
    try shell.wait(for: "done")
    #expect(try titles(database) == ["Mill Lane", "Harbour", "Quay"])
    try shell.finish()
  }

  @Test("A write waits for the transaction of another process") func aWriteWaitsForTheOtherProcess() throws {
    let vault = try vault()
    var configuration = Configuration()
    configuration.busyTimeout = .seconds(60)
    let database = try vault.openHouse(configuration)
    let shell = try Shell(vault)
    try shell.send("BEGIN IMMEDIATE; INSERT INTO OfflineProject (uuid, title) VALUES ('shell', 'Quay'); SELECT 'held';")
    try shell.wait(for: "held")

    let hasBegun = DispatchSemaphore(value: 0)
    let isDone = DispatchSemaphore(value: 0)
    let seen = Notes<Int?>()
    Thread {
      hasBegun.signal()
      do {
        try database.write { db in
          seen.add(try db.fetchOne("SELECT count(*) FROM OfflineProject", as: Int.self))
          try db.execute("INSERT INTO OfflineProject (uuid, title) VALUES ('here', 'Dock')")
        }
      } catch {
        Issue.record("\(error)")
      }
      isDone.signal()
    }.start()
    hasBegun.wait()
    // Reads are not held up by it, and do not see it.
    #expect(try titles(database) == ["Mill Lane", "Harbour"])
    #expect(seen.all.isEmpty)
    try shell.send("COMMIT;")
    isDone.wait()
    try shell.finish()
    // The transaction began behind the shell's, with its row in sight.
    #expect(seen.all == [3])
    #expect(try titles(database) == ["Mill Lane", "Harbour", "Quay", "Dock"])
  }

  @Test("A write fails with busy after the timeout") func aShortBusyTimeoutEndsInBusy() throws {
    let vault = try vault()
    var configuration = Configuration()
    configuration.busyTimeout = .milliseconds(20)
    let database = try vault.openHouse(configuration)
    let shell = try Shell(vault)
    try shell.send("BEGIN IMMEDIATE; SELECT 'held';")
    try shell.wait(for: "held")
    let error = #expect(throws: SQLError.self) {
      try database.write { try $0.execute("DELETE FROM OfflineLog") }
    }
    #expect(error?.code == .busy)
    #expect(error?.hint == "another process or connection is writing; try again")
    try shell.send("ROLLBACK; SELECT 'free';")
    try shell.wait(for: "free")
    try database.write { try $0.execute("DELETE FROM OfflineLog") }
    #expect(try database.read { try $0.fetchOne("SELECT count(*) FROM OfflineLog", as: Int.self) } == 0)
    try shell.finish()
  }

  @Test("Concurrent writes of two processes lose no row") func twoProcessesLoseNothing() throws {
    let vault = try vault()
    var configuration = Configuration()
    configuration.busyTimeout = .seconds(60)
    let database = try vault.openHouse(configuration)
    let shell = try Shell(vault)
    // Both begin when both are ready.
    try shell.send("SELECT 'ready';")
    try shell.wait(for: "ready")
    let rows = 200
    try shell.send(
      (1...rows).map { "INSERT INTO OfflineLog (text, updatedAt) VALUES ('shell', '\($0)');" }.joined(separator: "\n"))
    try shell.send("SELECT 'written';")
    for row in 1...rows {
      try database.write { db in
        try db.execute("INSERT INTO OfflineLog (text, updatedAt) VALUES ('here', \(String(row)))")
      }
    }
    try shell.wait(for: "written")
    try shell.finish()
    for writer in ["shell", "here"] {
      let count = try database.read {
        try $0.fetchOne("SELECT count(DISTINCT updatedAt) FROM OfflineLog WHERE text = \(writer)", as: Int.self)
      }
      #expect(count == rows)
    }
    #expect(try database.read { try $0.fetchOne("PRAGMA integrity_check", as: String.self) } == "ok")
  }

  /// A process that is killed in the middle of a transaction leaves nothing of it and no lock.
  @Test("A killed process leaves no lock and no partial transaction") func aKilledProcessLeavesNoLock() throws {
    let vault = try vault()
    let database = try vault.openHouse()
    let shell = try Shell(vault)
    try shell.send("BEGIN IMMEDIATE; INSERT INTO OfflineProject (uuid, title) VALUES ('shell', 'Quay'); SELECT 'held';")
    try shell.wait(for: "held")
    shell.kill()
    try database.write { db in try db.execute("INSERT INTO OfflineProject (uuid, title) VALUES ('here', 'Dock')") }
    #expect(try titles(database) == ["Mill Lane", "Harbour", "Dock"])
  }
}
