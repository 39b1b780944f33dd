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

/// The folder of a server whose key changes on a disk that crashes.
@Suite(.enabled(if: simulated_disk_is_available() != 0)) struct KeyRotationCrashTests {
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

  @Test("A power cut at any operation of a rotation leaves the whole folder under the former or the new key")
  func powerCuts() throws {
    let seed = freshSeed()
    let kinds: [(operations: [simulated_operation], cuts: Int?)] = [
      ([simulated_name], nil), ([simulated_sync], nil), ([simulated_write], 40),
    ]
    var (changed, kept) = (0, 0)
    var random = Seeded(seed)
    for (operations, cuts) in kinds {
      let machine = try Machine(seed: seed)
      let data = Files.parent(of: machine.path) + "/data"
      try fill(data, on: machine)
      let before = machine.count(operations)
      do {
        var folder = try ServerFolder(data, isCreating: false)
        _ = try folder.rotateKey()
      }
      let total = Int(machine.count(operations) - before)
      try machine.restart()
      var known = try rotations(in: data)
      let moments = cuts.map { count in (0..<count).map { _ in random.number(0..<total) } } ?? Array(0..<total)
      for moment in moments {
        machine.fail(operations, after: moment, simulated_power_cut)
        do {
          var folder = try ServerFolder(data, isCreating: false)
          _ = try folder.rotateKey()
        } catch {
          #expect(machine.hasFailed, "seed \(seed), \(operations) \(moment): \(error)")
        }
        try machine.restart()
        let count = try rotations(in: data)
        #expect(count == known || count == known + 1, "seed \(seed), \(operations) \(moment)")
        if count == known { kept += 1 } else { changed += 1 }
        known = count
        let names = try Files.names(in: data).filter { $0.contains("rotat") }
        #expect(names == [], "seed \(seed), \(operations) \(moment)")
      }
    }
    print("power cuts of rotations: \(changed) changed the key, \(kept) did not")
    #expect(changed > 0 && kept > 0)
  }
}
