import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// A database in which one bit is another one is damaged: it is said so, and it is never taken for a wrong secret.
@Suite struct FlippedBitTests {
  private let folder: TemporaryFolder
  private let whole: Data
  private var path: String { folder.path + "/job.vault" }
  private var file: URL { URL(filePath: path + "/db/0001/vault.db") }

  init() throws {
    folder = try TemporaryFolder()
    let path = folder.path + "/job.vault"
    let vault = try Vault.create(
      at: path, schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: keyFileSecret(1))
    _ = try vault.put(try vault.entities.entity("Project"), [("title", .text("Mill Lane"))])
    try vault.database.withWriter { _ = try $0.checkpoint() }
    vault.close()
    whole = try Data(contentsOf: URL(filePath: path + "/db/0001/vault.db"))
  }

  private func flip(_ place: Int, _ bit: Int) throws {
    var damaged = whole
    damaged[place] ^= UInt8(1) << UInt8(bit)
    try damaged.write(to: file)
  }

  @Test("A flipped bit in each header byte of the database is damage") func everyByteOfTheHeader() throws {
    for place in 0..<100 {
      try flip(place, place % 8)
      #expect("byte \(place)") {
        try Vault.open(at: path, with: keyFileSecret(1)).close()
      } throws: { ($0 as? VaultError)?.code == .damaged }
    }
  }

  @Test("A flipped bit in any page is found by doctor") func anyBitOfAnyPage() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for _ in 0..<40 {
      let place = Int.random(in: 0..<whole.count, using: &random)
      try flip(place, Int.random(in: 0..<8, using: &random))
      let doctor = try Doctor(path: path, schemas: [RestorationSchema.schema]) { try keyFileSecret(1) }
      #expect(try doctor.examine().isDamaged, "byte \(place), seed \(seed)")
    }
  }
}
