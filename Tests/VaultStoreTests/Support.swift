import CipherSQL
import Foundation
import RestorationModel
import VaultKeys

@testable import VaultStore

/// A folder that goes with the test.
final class TemporaryFolder {
  let path = NSTemporaryDirectory() + "fieldvault-store-\(UUID().uuidString)"

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ text: String, to name: String) throws -> String {
    let url = URL(filePath: path + "/" + name)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
    return url.path
  }
}

func secret(_ text: String = "a passphrase") throws -> UnlockSecret {
  var bytes = Array(text.utf8)
  return .passphrase(try SecureBytes(wiping: &bytes))
}

/// A database with the restoration schema and the derived triggers, without a vault's keys around it.
func restorationDatabase() throws -> (database: Database, entities: Entities) {
  let database = try Database.inMemory()
  try Vault.migrator(for: [RestorationSchema.schema]).apply(to: database)
  return (database, try database.read { try Entities.read(from: $0) })
}

/// A small generator with a seed, so that a failing run can be repeated.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    var value = state
    value ^= value >> 33
    value = value &* 0xff51_afd7_ed55_8ccd
    return value ^ (value >> 29)
  }
}

/// Makes all records of an entity look as if the server had them, at version 1.
func markAsSynced(_ type: String, in db: WriteConnection, _ entities: Entities) throws {
  let entity = try entities.entity(type)
  try WriteMode.sync(on: db) {
    try db.execute("DELETE FROM OfflineSyncQueue WHERE entityType = \(entity.type)")
    try db.execute(
      "UPDATE \(identifier: entity.table.name) SET isDirty = 0, syncStatus = 'synced', syncVersion = 1")
  }
}
