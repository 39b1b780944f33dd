import CipherSQL
import Foundation
import Platform
import SQLCipherStorage
import ServerStorage
import ServerSupport
import SimulatedDisk
import SyncServer
import TestSupport
import Testing

/// The folder of a server whose databases are replaced on a disk that crashes.
@Suite(.enabled(if: simulated_disk_is_available() != 0)) struct ServerFolderCrashTests {
  private static let accounts = ["a1", "b2"]

  /// Creates a folder with a user and two accounts, whose write-ahead logs are as a crash leaves them.
  private func fill(_ data: String, on machine: Machine) throws {
    do {
      let folder = try serverFolder(data, accounts: Self.accounts)
      let directory = try ServerDirectory(in: folder)
      defer { directory.close() }
      _ = try directory.addUser("ada", account: "water")
      try directory.database.write { connection in
        for account in Self.accounts {
          try connection.execute(
            "INSERT INTO Account (name, folder, createdAt) VALUES (\(account), \(account), '2026-01-01T00:00:00.000Z')")
        }
      }
      for account in Self.accounts {
        let records = try AccountDatabase.records.open(account, in: folder)
        defer { records.close() }
        try records.write { try $0.execute("UPDATE ServerState SET lastSequence = 7") }
        // The log stays, because nothing can be written when the last connection closes.
        if account == Self.accounts.last { simulated_disk_cut(machine.disk) }
      }
    }
    try machine.restart()
  }

  /// Checks the content of each database and returns the number of rotations in the audit log.
  private func rotations(in data: String) throws -> Int {
    let folder = try ServerFolder(data, isCreating: false)
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    #expect(try directory.accounts().count == 3)
    for account in Self.accounts {
      let records = try AccountDatabase.records.open(account, in: folder)
      defer { records.close() }
      #expect(try records.read { try $0.fetchOne("SELECT lastSequence FROM ServerState", as: Int.self) } == 7)
    }
    #expect(try folder.verify().findings == [])
    return try directory.auditLog(since: nil, atMost: 1_000).count { $0.action == "key rotated" }
  }

  /// Calls a closure for moments of a change of the folder, at which the power is cut.
  /// - Parameter check: checks the folder after the restart.
  private func powerCuts(
    seed given: UInt64? = nil, _ change: (inout ServerFolder) throws -> Void,
    check: (_ data: String, _ moment: String) throws -> Void
  ) throws {
    let seed = given ?? freshSeed()
    let kinds: [(operations: [simulated_operation], cuts: Int?)] = [
      ([simulated_name], nil), ([simulated_sync], nil), ([simulated_write], 40),
    ]
    var random = Seeded(seed)
    for (operations, cuts) in kinds {
      let machine = try Machine(seed: seed)
      let data = Files.parent(of: machine.path) + "/data"
      try fill(data, on: machine)
      let before = machine.count(operations)
      do {
        var folder = try ServerFolder(data, isCreating: false)
        try change(&folder)
      }
      let total = Int(machine.count(operations) - before)
      try machine.restart()
      try check(data, "")
      let moments = cuts.map { count in (0..<count).map { _ in random.number(0..<total) } } ?? Array(0..<total)
      for moment in moments {
        let place = "seed \(seed), \(operations) \(moment)"
        machine.fail(operations, after: moment, simulated_power_cut)
        do {
          var folder = try ServerFolder(data, isCreating: false)
          try change(&folder)
        } catch {
          #expect(machine.hasFailed, "\(place): \(error)")
        }
        try machine.restart()
        try check(data, place)
      }
    }
  }

  /// With the given seed, a second crash brought back the draft of a rotation that the first one had undone.
  @Test(
    "A power cut at any operation of a rotation leaves the whole folder under the former or the new key",
    arguments: [nil, 2_529_055_811_197])
  func rotation(seed: UInt64?) throws {
    var (known, changed, kept) = (0, 0, 0)
    try powerCuts(seed: seed) {
      _ = try $0.rotateKey()
    } check: { data, moment in
      let count = try rotations(in: data)
      if moment.isEmpty {
        known = count
      } else {
        #expect(count == known || count == known + 1, "\(moment)")
      }
      if count == known { kept += 1 } else { changed += 1 }
      known = count
      #expect(try Files.names(in: data).filter { $0.contains(".rotated") || $0 == "rotation" } == [], "\(moment)")
    }
    print("power cuts of rotations: \(changed) changed the key, \(kept) did not")
    #expect(changed > 0 && kept > 0)
  }

  @Test("A power cut at any operation of a compaction leaves each database, and the next compaction no other file")
  func compaction() throws {
    try powerCuts {
      _ = try $0.compact { if let problem = $0.problem { throw Unexpected(problem) } }
    } check: { data, moment in
      _ = try rotations(in: data)
      _ = try ServerFolder(data, isCreating: false).compact { _ in }
      #expect(try Files.names(in: data).filter { $0.contains(".db.") } == [], "\(moment)")
    }
  }
}
