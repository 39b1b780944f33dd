import CipherSQL
import Foundation
import Platform
import Synchronization
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// The key of a vault changes, and nothing else does.
@Suite struct RotationTests {
  private let folder: TemporaryFolder
  private let vault: Vault
  private var path: String { folder.path + "/job.vault" }

  init() throws {
    folder = try TemporaryFolder()
    vault = try Vault.create(
      at: folder.path + "/job.vault",
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: keyFileSecret(1))
    _ = try vault.put(try vault.entities.entity("Project"), [("title", .text("Mill Lane"))])
  }

  private func titles(_ vault: Vault) throws -> [String] {
    try vault.database.read { try $0.fetch("SELECT title FROM OfflineProject ORDER BY projectId", as: String.self) }
  }

  private func generations() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path + "/db") }

  private func reopen(_ number: UInt8 = 1) throws -> Vault { try Vault.open(at: path, with: keyFileSecret(number)) }

  @Test("A rotation changes the database key and keeps the content") func theKeyChangesAndTheContentStays() throws {
    let oldKey = try vault.withDatabaseKey { Array($0) }
    let plan = try vault.rotateKey(.databaseKey)
    #expect(plan.generation == 1 && plan.nextGeneration == 2 && plan.droppedSlots.isEmpty)
    #expect(try generations() == ["0002"])
    let newKey = try vault.withDatabaseKey { Array($0) }
    #expect(newKey != oldKey)
    // The same value goes on with the new generation, reading and writing.
    _ = try vault.put(try vault.entities.entity("Project"), [("title", .text("Harbour"))])
    #expect(try titles(vault) == ["Mill Lane", "Harbour"])
    vault.close()
    #expect(throws: SQLError.self) {
      try Database(path: path + "/db/0002/vault.db", key: try #require(PlainKey(oldKey)))
    }
    #expect(try titles(reopen()) == ["Mill Lane", "Harbour"])
  }

  @Test("Planning a rotation changes nothing") func aPlanChangesNothing() throws {
    let before = try Data(contentsOf: URL(filePath: path + "/keyring.json"))
    let plan = try vault.planRotation(.databaseKey)
    #expect(plan.nextGeneration == 2 && plan.neededBytes > plan.databaseBytes && plan.otherHolders.isEmpty)
    #expect(try Data(contentsOf: URL(filePath: path + "/keyring.json")) == before)
    #expect(try generations() == ["0001"])
  }

  @Test("A new root key keeps the slots with given secrets and drops the others")
  func aNewRootKeyKeepsTheSlotsWhoseSecretsAreAtHand() throws {
    _ = try vault.addSlot(keyFileSecret(2), label: "office")
    _ = try vault.addSlot(keyFileSecret(3))
    let plan = try vault.rotateKey(.rootKey(keeping: [keyFileSecret(1), keyFileSecret(2)]))
    #expect(plan.droppedSlots.count == 1)
    #expect(try vault.slots().map(\.label) == ["", "office"])
    vault.close()
    #expect(try titles(reopen(2)) == ["Mill Lane"])
    #expect { try reopen(3) } throws: { ($0 as? KeyError)?.code == .wrongSecret }
  }

  @Test("A vault that is open elsewhere is not rotated") func aVaultThatIsOpenElsewhereIsNotRotated() throws {
    let other = try reopen()
    #expect { try vault.rotateKey(.databaseKey) } throws: { ($0 as? VaultError)?.code == .busy }
    #expect(try generations() == ["0001"])
    // Both go on as they were.
    #expect(try titles(other) == ["Mill Lane"])
    #expect(try titles(vault) == ["Mill Lane"])
    _ = try vault.put(try vault.entities.entity("Project"), [("title", .text("Harbour"))])
    #expect(try titles(other).count == 2)
    withExtendedLifetime(other) {}
  }

  @Test("Concurrent rotations run one after another") func rotationsAtTheSameTimeFollowOneAnother() throws {
    let (vault, path) = (vault, path)
    let other = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: 6) { number in
      do {
        if number < 3 { _ = try vault.rotateKey(.databaseKey) } else { try vault.database.read { _ in } }
        // During a rotation no other process opens the vault. Between two rotations another one may.
        if (try? Vault.open(at: path, with: keyFileSecret(1))) != nil { other.add(1, ordering: .relaxed) }
      } catch let error as VaultError where error.code == .busy {
        // The vault was open for a moment in the same process.
      } catch {
        Issue.record(error)
      }
    }
    #expect(try titles(vault) == ["Mill Lane"])
    #expect(try generations().count == 1)
    vault.close()
    #expect(try titles(reopen()) == ["Mill Lane"])
  }

  /// A process whose vault another process rotated in the moment in which it released the lock.
  @Test("A process switches to a new generation before it writes")
  func aGenerationOfAnotherProcessIsTakenUpBeforeAnythingIsWritten() throws {
    let next = try vault.newestKeyring().withNewGeneration()
    try FileManager.default.createDirectory(atPath: path + "/db/0002", withIntermediateDirectories: false)
    try vault.database.read {
      try $0.copyPages(to: path + "/db/0002/vault.db", key: GuardedKey(bytes: next.databaseKey))
    }
    try KeyringFile.write(next.keyring, at: path + "/keyring.json")
    let plan = try vault.rotateKey(.databaseKey)
    #expect(plan.generation == 2 && plan.nextGeneration == 3)
    #expect(try titles(vault) == ["Mill Lane"])
    #expect(try generations() == ["0003"])
  }

  @Test("A new generation that cannot be opened closes the vault") func aGenerationThatCannotBeOpenedClosesTheVault()
    throws
  {
    let next = try vault.newestKeyring().withNewRootKey(keeping: [keyFileSecret(1)]).unlocked
    try KeyringFile.write(next.keyring, at: path + "/keyring.json")
    #expect { try vault.rotateKey(.databaseKey) } throws: { ($0 as? KeyError)?.code == .wrongSecret }
    #expect(throws: SQLError.self) { try titles(vault) }
  }

  @Test("A read in progress continues during a rotation") func readersGoOnUntilTheSwitch() throws {
    try vault.database.read { db throws in
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread { [vault] in
        defer { done.signal() }
        do { _ = try vault.rotateKey(.databaseKey) } catch { Issue.record(error) }
      }
      done.wait()
      #expect(try db.fetchOne("SELECT title FROM OfflineProject", as: String.self) == "Mill Lane")
    }
    #expect(try generations() == ["0002"])
  }

  @Test("The next opening removes the leftovers of an interrupted rotation")
  func whatAnInterruptedRotationLeftGoesAtTheNextOpen() throws {
    vault.close()
    let files = FileManager.default
    // Killed before the commit: a generation that no keyring names, and a keyring that was not finished.
    try FileManager.default.createDirectory(atPath: path + "/db/0002", withIntermediateDirectories: false)
    try Data("half".utf8).write(to: URL(filePath: path + "/db/0002/vault.db"))
    try Data("{".utf8).write(to: URL(filePath: path + "/.keyring.json.tmp"))
    #expect(try titles(reopen()) == ["Mill Lane"])
    #expect(try generations() == ["0001"])
    #expect(!files.fileExists(atPath: path + "/.keyring.json.tmp"))
  }

  @Test("A rotation refuses a copy that differs from the original") func aCopyThatIsNotTheSameIsNotTaken() throws {
    // The rotation is stopped between the copy and its comparison, where the copy is changed.
    #expect {
      try vault.rotateKey(.databaseKey) { step in
        guard case .checking = step else { return }
        let copy = path + "/db/0002/vault.db"
        let file = try #require(FileHandle(forUpdatingAtPath: copy))
        try file.seek(toOffset: 4096 + 50)
        try file.write(contentsOf: Data([1, 2, 3]))
        try file.close()
      }
    } throws: { ($0 as? VaultError)?.code == .damaged }
    #expect(try generations() == ["0001"])
    #expect(try titles(vault) == ["Mill Lane"])
  }

  @Test("Key slots can be added and removed, except the last one") func slotsComeAndGoButTheLastOneStays() throws {
    let slot = try vault.addSlot(keyFileSecret(2), label: "office")
    #expect(try vault.slots().count == 2)
    try vault.removeSlot(vault.openedSlotID)
    #expect(try vault.slots().map(\.id) == [slot.id])
    #expect { try vault.removeSlot(slot.id) } throws: { ($0 as? KeyError)?.code == .lastSlot }
    vault.close()
    #expect(try titles(reopen(2)) == ["Mill Lane"])
    #expect { try reopen(1) } throws: { ($0 as? KeyError)?.code == .wrongSecret }
  }

  @Test("A slot that cannot be written removes its secret from the system store again")
  func theSecretOfASlotThatCannotBeWrittenLeavesTheSystemAgain() throws {
    let store = OneSecret()
    let slot = try vault.addSystemSlot(in: store, label: "laptop")
    #expect(store.kept.withLock { $0.keys.sorted() } == [slot.id])
    let secret = try #require(try Vault.keyring(at: path).systemSecret(in: store))
    #expect(try titles(Vault.open(at: path, with: secret)) == ["Mill Lane"])
    // Where the new keyring would be written, something is in the way.
    try FileManager.default.createDirectory(atPath: path + "/.keyring.json.tmp/full", withIntermediateDirectories: true)
    #expect { try vault.addSystemSlot(in: store) } throws: { $0 is KeyError }
    #expect(store.kept.withLock { $0.keys.sorted() } == [slot.id])
    #expect(try vault.slots().count == 2)
    try FileManager.default.removeItem(atPath: path + "/.keyring.json.tmp")
    try vault.removeSlot(slot.id)
    try vault.forget(slot.id, in: store)
    #expect(store.kept.withLock { $0.isEmpty })
  }

  @Test("Key slots added by two open vaults are both kept") func slotsThatTwoProcessesAddAreBothThere() throws {
    let other = try reopen()
    _ = try vault.addSlot(keyFileSecret(2))
    _ = try other.addSlot(keyFileSecret(3))
    #expect(try vault.slots().count == 3)
    try vault.removeSlot(vault.openedSlotID)
    #expect(try other.slots().count == 2)
  }

  @Test("Opening with a weak passphrase slot upgrades the slot") func aCheapPassphraseCostsTheStandardAfterItIsUsed()
    throws
  {
    var settings = KeyringSettings.standard
    settings.derivation = try KeyDerivation(opsLimit: 2, memLimitBytes: 19 << 20)
    let cheap = try vault.newestKeyring().adding(passphraseSecret("weak and cheap"), settings: settings)
    try KeyringFile.write(cheap.keyring, at: path + "/keyring.json")
    vault.close()
    let opened = try Vault.open(at: path, with: passphraseSecret("weak and cheap"))
    #expect(try opened.slots().allSatisfy { !$0.needsUpgrade })
    opened.close()
    #expect(try titles(Vault.open(at: path, with: passphraseSecret("weak and cheap"))) == ["Mill Lane"])
  }
}

/// A store of the system's kind, in memory.
private final class OneSecret: SystemSecretStore {
  let kept = Locked<[String: SecureBytes]>([:])

  func store(_ secret: SecureBytes, vaultID: String, slotID: String, label: String) throws(KeyError) {
    kept.withLock { $0[slotID] = secret }
  }

  func secret(vaultID: String, slotID: String) throws(KeyError) -> SecureBytes? {
    kept.withLock { $0[slotID] }
  }

  func remove(vaultID: String, slotID: String) throws(KeyError) { kept.withLock { $0[slotID] = nil } }
}
