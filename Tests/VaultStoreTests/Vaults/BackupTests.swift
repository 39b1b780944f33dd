import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// A backup is one file, of one moment, and its restoration equals the vault of that moment.
@Suite struct BackupTests {
  private let folder: TemporaryFolder
  private let vault: Vault
  private var path: String { folder.path + "/job.vault" }
  private var backup: String { folder.path + "/job.backup" }
  private var target: String { folder.path + "/again.vault" }

  init() throws {
    folder = try TemporaryFolder()
    vault = try Vault.create(
      at: folder.path + "/job.vault",
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)], secret: keyFileSecret(1))
    try putProject("Mill Lane")
  }

  private func putProject(_ title: String) throws {
    _ = try vault.put(try vault.entities.entity("Project"), [("title", .text(title))])
  }

  private func titles(_ path: String, _ secret: UInt8 = 1) throws -> [String] {
    let vault = try Vault.open(at: path, with: keyFileSecret(secret))
    defer { vault.close() }
    return try vault.database.read {
      try $0.fetch("SELECT title FROM OfflineProject ORDER BY projectId", as: String.self)
    }
  }

  private func restore(_ secret: UInt8 = 1) throws {
    try Vault.restore(backup, to: target, with: keyFileSecret(secret))
  }

  private func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) }

  @Test("A restored backup has the records and attachments") func whatWentInComesBack() throws {
    let photo = path + "/attachments/ab/0193-photo"
    try FileManager.default.createDirectory(atPath: path + "/attachments/ab", withIntermediateDirectories: false)
    let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try content.write(to: URL(filePath: photo))
    let bytes = try vault.backUp(to: backup)
    #expect(try FileManager.default.attributesOfItem(atPath: backup)[.size] as? Int == bytes)
    #expect(try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int == 0o600)
    try restore()
    #expect(try titles(target) == ["Mill Lane"])
    #expect(try Data(contentsOf: URL(filePath: target + "/attachments/ab/0193-photo")) == content)
    #expect(try names() == ["job.vault", "job.backup", "again.vault"])
  }

  @Test("A backup holds the state of one moment while others write") func itIsOfOneMomentWhileOthersWrite() throws {
    var writes = 0
    _ = try vault.backUp(to: backup) { _, _ in
      // Called at least for every megabyte: later writes are not in the backup.
      writes += 1
      try putProject("later \(writes)")
    }
    #expect(writes > 0)
    try restore()
    #expect(try titles(target) == ["Mill Lane"])
  }

  @Test("A backup opens with the key slots of its time after a rotation")
  func itOpensWithTheSlotsOfItsMomentAfterARotation() throws {
    _ = try vault.backUp(to: backup)
    _ = try vault.addSlot(keyFileSecret(2))
    _ = try vault.rotateKey(.rootKey(keeping: [keyFileSecret(2)]))
    #expect { try restore(2) } throws: { ($0 as? KeyError)?.code == .wrongSecret }
    try restore(1)
    #expect(try titles(target) == ["Mill Lane"])
  }

  @Test("A backup replaces an older backup and no other file") func anOlderBackupIsReplacedAndNothingElseIs() throws {
    _ = try vault.backUp(to: backup)
    try putProject("Harbour")
    _ = try vault.backUp(to: backup)
    try restore()
    #expect(try titles(target) == ["Mill Lane", "Harbour"])
    let other = try folder.write("a letter", to: "letter.txt")
    #expect { try vault.backUp(to: other) } throws: { ($0 as? VaultError)?.code == .alreadyExists }
    #expect(try String(contentsOfFile: other, encoding: .utf8) == "a letter")
  }

  @Test("A failed backup keeps the old one and leaves no partial file") func aFailedBackupLeavesTheOldOneAndNoDraft()
    throws
  {
    _ = try vault.backUp(to: backup)
    let before = try Data(contentsOf: URL(filePath: backup))
    #expect(throws: CancellationError.self) {
      try vault.backUp(to: backup) { _, _ in throw CancellationError() }
    }
    #expect(try Data(contentsOf: URL(filePath: backup)) == before)
    #expect(try names() == ["job.vault", "job.backup"])
  }

  @Test("The partial file of a killed backup is replaced") func aDraftOfAKilledBackupIsReplaced() throws {
    _ = try folder.write("half", to: ".job.backup.making")
    _ = try vault.backUp(to: backup)
    #expect(try names() == ["job.vault", "job.backup"])
  }

  @Test("A restore does not overwrite a vault") func nothingIsOverwrittenByARestore() throws {
    _ = try vault.backUp(to: backup)
    #expect {
      try Vault.restore(backup, to: path, with: keyFileSecret(1))
    } throws: { ($0 as? VaultError)?.code == .alreadyExists }
  }

  @Test("A changed byte anywhere in a backup is reported as damage") func everyFlippedByteIsDamageAndNeverAWrongSecret()
    throws
  {
    _ = try vault.backUp(to: backup)
    let whole = try Data(contentsOf: URL(filePath: backup))
    var random = Seeded(20_261_121)
    // Every byte of the beginning, which is not encrypted, and any others.
    let beginning = whole.firstRange(of: Data("}\n".utf8))?.upperBound ?? 2000
    var places = Array(stride(from: 0, to: beginning + 60, by: 7))
    places += (0..<60).map { _ in Int.random(in: 0..<whole.count, using: &random) }
    for place in places {
      var damaged = whole
      damaged[place] ^= UInt8(1) << UInt8.random(in: 0..<8, using: &random)
      try damaged.write(to: URL(filePath: backup))
      #expect("byte \(place)") {
        try restore()
      } throws: { error in
        (error as? VaultError)?.code == .damaged || (error as? KeyError)?.code == .damaged
      }
    }
    #expect(try names() == ["job.vault", "job.backup"])
  }

  @Test("A truncated or extended backup is reported as damage") func aBackupThatIsCutShortOrLengthenedIsDamage() throws
  {
    _ = try vault.backUp(to: backup)
    let whole = try Data(contentsOf: URL(filePath: backup))
    var random = Seeded(7)
    let cuts =
      [0, 1, 19, 20, 27, 28, whole.count - 1] + (0..<20).map { _ in Int.random(in: 0..<whole.count, using: &random) }
    for count in cuts {
      try whole.prefix(count).write(to: URL(filePath: backup))
      #expect("cut at \(count)") { try restore() } throws: { ($0 as? VaultError)?.code == .damaged }
    }
    try (whole + Data([0])).write(to: URL(filePath: backup))
    #expect { try restore() } throws: { ($0 as? VaultError)?.code == .damaged }
    #expect(try names() == ["job.vault", "job.backup"])
  }

  @Test("A backup of a vault with damage can be restored")
  func whatWasWrongInTheVaultDoesNotMakeItsBackupUseless() throws {
    try vault.database.withWriter { connection in
      try connection.set(.foreignKeys(false))
      try connection.execute("INSERT INTO OfflineNote (projectId, body) VALUES (999, 'of nobody')")
    }
    _ = try vault.rotateKey(.databaseKey)
    _ = try vault.backUp(to: backup)
    try restore()
    #expect(try titles(target) == ["Mill Lane"])
  }

  @Test("A backup with an older keyring put in front is reported as damage")
  func aKeyringOfAnotherTimeCannotBePutInFront() throws {
    let old = try KeyringFile.read(at: path + "/keyring.json").serialized()
    _ = try vault.addSlot(keyFileSecret(2))
    try vault.removeSlot(try vault.slots()[0].id)
    _ = try vault.backUp(to: backup)
    let whole = try Data(contentsOf: URL(filePath: backup))
    let keyring = try KeyringFile.read(at: path + "/keyring.json").serialized()
    let beginning = 20 + 8 + keyring.count
    // The old keyring, and the true beginning as something attached to the first message.
    var forged = Data(BackupFormat.magic + BackupFormat.bytes(old.count) + old) + whole[beginning..<(beginning + 24)]
    let first = beginning + 24
    let length = try #require(BackupFormat.number(whole[first..<(first + 8)]))
    forged += whole[first..<(first + 8)] + Data(BackupFormat.bytes(beginning))
    forged += whole[(first + 16)..<(first + 16 + length)] + whole[..<beginning] + whole[(first + 16 + length)...]
    try forged.write(to: URL(filePath: backup))
    #expect { try restore(1) } throws: { ($0 as? VaultError)?.code == .damaged }
  }

  @Test(
    "A file name in a backup that leads outside the vault is refused",
    arguments: [
      "attachments/../x", "../vault.db", "attachments/ab/../../x", "attachments/ab/", "db", "attachments/ab/X", "",
    ])
  func namesThatLeadElsewhereAreRefused(_ name: String) {
    #expect(!BackupFormat.isAcceptable(name))
  }
}
