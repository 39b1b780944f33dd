import BenchmarkFloor
import CSodium
import CipherSQL
import Foundation
import VaultStore
import VaultKeys

/// The parts about a whole vault: unlocking, key rotation, backup. Wall times are compared, because the disk is used.
final class VaultSuite {
  private let folder: String
  private let vault: Vault
  private let passphrase = Array("a passphrase for the benchmark only".utf8)
  private let floorKey: [UInt8] = (0..<32).map { UInt8($0 * 5 + 3) }
  private var path: String { folder + "/bench.vault" }
  private var copyPath: String { folder + "/copy.db" }

  init(folder: String) throws {
    self.folder = folder
    vault = try Vault.create(
      at: folder + "/bench.vault",
      schemas: [(SchemaSource(name: "benchmark", folder: nil), BenchmarkSchema.schema)], secret: Self.secret(passphrase)
    )
    try vault.database.write { connection in
      for index in 0..<400_000 {
        let date = Date(timeIntervalSince1970: Double(index) * 60)
        try connection.insert(
          Reading(
            uuid: .version7(), projectId: Int64(index % 50), date: date,
            relativeHumidity: 50, temperature: Double(index % 90), note: "behind baseboard number \(index % 17)",
            createdAt: date, updatedAt: date))
      }
    }
    try vault.database.withWriter { _ = try $0.checkpoint() }
  }

  private static func secret(_ text: [UInt8]) throws -> UnlockSecret {
    var copy = text
    return .passphrase(try SecureBytes(wiping: &copy))
  }

  /// The lines of the report; whether all promises hold.
  func report(rounds: Int) throws -> (lines: [String], holds: Bool) {
    let bytes = try FileManager.default.attributesOfItem(atPath: vault.databasePath)[.size] as? Int ?? 0
    var lines = ["A vault of \(bytes >> 20) MiB, \(rounds) rounds, seconds by the clock (medians)"]
    let rotation = try rounds.times { try self.rotationRound() }
    let sameWork = median(rotation.map { $0.rotation / ($0.copy + $0.check) })
    lines.append(
      "rotation of the key: \(format(median(rotation.map(\.rotation)), 3)); the same copy and checks in C: "
        + "\(format(median(rotation.map { $0.copy + $0.check }), 3)) (the copy alone \(format(median(rotation.map(\.copy)), 3))); "
        + "ratio \(format(sameWork, 2)) (promised: at most 1.5)")
    let backup = try rounds.times { try self.backupRound() }
    let speed = median(backup.map { $0.copy / $0.backup })
    lines.append(
      "backup: \(format(median(backup.map(\.backup)), 3)); cp and sync of the same files: "
        + "\(format(median(backup.map(\.copy)), 3)); speed \(format(speed, 2)) of it (promised: at least 0.5)")
    let unlocking = try rounds.times { try self.unlockRound() }
    let beyond = median(unlocking.map { $0.open - $0.derivation })
    lines.append(
      "unlocking with a passphrase: Argon2id \(format(median(unlocking.map(\.derivation)) * 1000, 0)) ms and "
        + "\(format(beyond * 1000, 0)) ms (promised: at most 30)")
    return (lines, sameWork <= 1.5 && speed >= 0.5 && beyond <= 0.03)
  }

  private func rotationRound() throws -> (rotation: Double, copy: Double, check: Double) {
    let rotation = try elapsed { _ = try vault.rotateKey(.databaseKey) }
    let key = try vault.withDatabaseKey { Array($0) }
    let source = try Floor(path: vault.databasePath, key: key, cacheKiB: 2048, isReader: true)
    let text = "x'" + floorKey.map { String(format: "%02x", $0) }.joined() + "'"
    if FileManager.default.fileExists(atPath: copyPath) { try FileManager.default.removeItem(atPath: copyPath) }
    let copy = try elapsed { try source.check(floor_copy(source.handle, copyPath, text)) }
    let check = try elapsed { try source.check(floor_compare(source.handle, copyPath, text)) }
    return (rotation, copy, check)
  }

  private func backupRound() throws -> (backup: Double, copy: Double) {
    let (backup, plain) = (folder + "/bench.backup", folder + "/plain.copy")
    for file in [backup, plain] where FileManager.default.fileExists(atPath: file) {
      try FileManager.default.removeItem(atPath: file)
    }
    let backing = try elapsed { _ = try vault.backUp(to: backup) }
    let copying = try elapsed {
      try FileManager.default.copyItem(atPath: vault.databasePath, toPath: plain)
      let file = open(plain, O_RDONLY)
      defer { close(file) }
      guard fsync(file) == 0 else { throw Floor.Failure(description: "fsync failed") }
    }
    return (backing, copying)
  }

  private func unlockRound() throws -> (open: Double, derivation: Double) {
    let secret = try Self.secret(passphrase)
    let opening = try elapsed { try Vault.open(at: path, with: secret, schemas: [BenchmarkSchema.schema]).close() }
    var key = [UInt8](repeating: 0, count: 32)
    let salt = [UInt8](repeating: 7, count: Int(crypto_pwhash_SALTBYTES))
    let text = passphrase.map { CChar(bitPattern: $0) }
    let derivation = elapsed {
      _ = crypto_pwhash(
        &key, 32, text, UInt64(text.count), salt, 3, 64 << 20, crypto_pwhash_ALG_ARGON2ID13)
    }
    return (opening, derivation)
  }
}

extension Int {
  /// The results of doing something so often; one more time comes first and is not counted.
  fileprivate func times<Result>(_ body: () throws -> Result) rethrows -> [Result] {
    _ = try body()
    return try (0..<self).map { _ in try body() }
  }
}

/// Seconds by the clock on the wall.
private func elapsed(_ body: () throws -> Void) rethrows -> Double {
  let duration = try ContinuousClock().measure(body).components
  return Double(duration.seconds) + Double(duration.attoseconds) / 1e18
}
