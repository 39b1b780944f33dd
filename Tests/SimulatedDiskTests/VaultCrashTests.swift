import CipherSQL
import Foundation
import RestorationModel
import SimulatedDisk
import TestSupport
import Testing
import VaultKeys
import VaultStore

/// A whole vault on a disk that crashes: its folder, keyring, lock and database.
@Suite(.enabled(if: simulated_disk_is_available() != 0)) struct VaultCrashTests {
  private let secret: UnlockSecret

  init() throws { secret = try keyFileSecret() }

  private func open(on machine: Machine) throws -> Vault {
    try Vault.open(
      at: machine.path, with: secret, creating: [RestorationSchema.schema], configuration: machine.configuration)
  }

  @Test("A vault opens after a power cut at any operation of its creation, its writes and its rotation")
  func powerCuts() throws {
    let first = freshSeed()
    let whole = try Machine(seed: first)
    try open(on: whole).close()
    let operations = Int(whole.count(everyOperation))
    var created = 0
    var rotated = 0
    for seed in first..<first + 3 {
      var random = Seeded(seed)
      let machine = try Machine(seed: seed)
      let path = machine.path
      var number = 0
      var isCreated = false
      for turn in 0..<4 {
        // The last turn has no fault, so that each machine has a rotation.
        let isLast = turn == 3
        let operation = random.number(0..<(isCreated ? 500 : 2 * operations))
        if !isLast { machine.fail(everyOperation, after: operation, simulated_power_cut) }
        do {
          let vault = try open(on: machine)
          defer { vault.close() }
          isCreated = true
          for step in 0..<20 {
            try vault.database.write { try $0.execute("INSERT INTO OfflineCompany (name) VALUES (\("\(number)"))") }
            number += 1
            if step == 5, random.chance(0.5) || isLast {
              _ = try vault.rotateKey(.databaseKey)
              rotated += 1
            }
          }
        } catch {
          #expect(machine.hasFailed, "seed \(seed): \(error)")
        }
        try machine.restart()
        if !isCreated, !FileManager.default.fileExists(atPath: path) { continue }
        created += 1
        let vault = try Vault.open(at: path, with: secret, configuration: machine.configuration)
        let count = try vault.database.read { try $0.fetchOne("SELECT count(*) FROM OfflineCompany", as: Int.self) }
        vault.close()
        #expect((count ?? 0) >= number, "seed \(seed): \(count ?? 0) of \(number) acknowledged rows")
        number = count ?? 0
      }
    }
    #expect(created > 0 && rotated > 0)
  }
}
