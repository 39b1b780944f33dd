import Foundation
import Platform
import Testing

@testable import VaultKeys

/// A store in memory that can be told to misbehave.
private final class FakeStore: SystemSecretStore {
  struct Content {
    var secrets: [String: [UInt8]] = [:]
    var labels: [String] = []
    var asked: [String] = []
  }
  enum Trouble { case none, refuses, forgets, garbles }

  let content = Locked(Content())
  let trouble: Trouble

  init(_ trouble: Trouble = .none) { self.trouble = trouble }

  func store(_ secret: SecureBytes, vaultID: String, slotID: String, label: String) throws(KeyError) {
    if trouble == .refuses { throw KeyError(.secretStoreRefused, "no", hint: "") }
    var bytes = plain(secret)
    if trouble == .garbles { bytes[31] ^= 1 }
    content.withLock {
      if trouble != .forgets { $0.secrets["\(vaultID)/\(slotID)"] = bytes }
      $0.labels.append(label)
    }
  }

  func secret(vaultID: String, slotID: String) throws(KeyError) -> SecureBytes? {
    content.withLock {
      $0.asked.append(slotID)
      return $0.secrets["\(vaultID)/\(slotID)"].map { secure(bytes: $0) }
    }
  }

  func remove(vaultID: String, slotID: String) throws(KeyError) {
    content.withLock { $0.secrets["\(vaultID)/\(slotID)"] = nil }
  }

  var secrets: [String: [UInt8]] { content.withLock { $0.secrets } }
}

@Suite struct SystemSlotTests {
  private let unlocked: UnlockedKeyring

  init() throws { unlocked = try Keyring.create(with: keyFile(1), settings: .cheap).unlocked }

  @Test("A system slot keeps its secret in the secret store and opens the keyring")
  func aSlotIsAddedWithASecretInTheStore() throws {
    let store = FakeStore()
    let changed = try unlocked.addingSystemSlot(in: store, label: "laptop", settings: .cheap)
    let slot = try #require(changed.keyring.slots.last)
    #expect(slot.kind == .system && slot.label == "laptop" && slot.derivation == nil)
    #expect(store.secrets.keys.sorted() == ["\(unlocked.keyring.vaultID)/\(slot.id)"])
    #expect(store.secrets.values.first?.count == 32)
    #expect(store.content.withLock { $0.labels } == ["FieldVault slot \(slot.id): laptop"])
    let read = try Keyring(parsing: changed.keyring.serialized())
    let opened = try read.unlock(with: try read.requiredSystemSecret(in: store))
    #expect(opened.slotID == slot.id)
    #expect(opened.databaseKey.isEqual(to: unlocked.databaseKey))
    // A new root key keeps it like any other slot.
    let secret = try read.requiredSystemSecret(in: store)
    let rotated = try opened.withNewRootKey(keeping: [secret], settings: .cheap)
    #expect(rotated.dropped.map(\.kind) == [.keyFile])
    #expect(try rotated.unlocked.keyring.unlock(with: secret).slotID == slot.id)
  }

  @Test("Two system slots have two secrets") func twoSlotsHaveTwoSecrets() throws {
    let store = FakeStore()
    let both = try unlocked.addingSystemSlot(in: store, settings: .cheap)
      .addingSystemSlot(in: store, settings: .cheap)
    #expect(Set(store.secrets.values).count == 2)
    // The one of the first slot is on another machine.
    let ids = both.keyring.slots.filter { $0.kind == .system }.map(\.id)
    try store.remove(vaultID: both.keyring.vaultID, slotID: ids[0])
    #expect(try both.keyring.unlock(with: both.keyring.requiredSystemSecret(in: store)).slotID == ids[1])
  }

  @Test("A stale secret of another slot does not hide the right one") func aSecretOfAnotherSlotDoesNotHideTheRightOne()
    throws
  {
    let store = FakeStore()
    let both = try unlocked.addingSystemSlot(in: store, settings: .cheap)
      .addingSystemSlot(in: store, settings: .cheap)
    let ids = both.keyring.slots.filter { $0.kind == .system }.map(\.id)
    let vault = both.keyring.vaultID
    try store.store(secure(bytes: Array(1...32)), vaultID: vault, slotID: ids[0], label: "")
    #expect(try both.keyring.unlock(with: both.keyring.requiredSystemSecret(in: store)).slotID == ids[1])
    try store.remove(vaultID: vault, slotID: ids[1])
    let stale = try both.keyring.requiredSystemSecret(in: store)
    #expect(code { _ = try both.keyring.unlock(with: stale) } == .wrongSecret)
  }

  @Test(
    "A store that fails to keep the secret adds no slot", arguments: [FakeStore.Trouble.refuses, .forgets, .garbles])
  fileprivate func aStoreThatDoesNotKeepTheSecretMakesNoSlot(_ trouble: FakeStore.Trouble) throws {
    let store = FakeStore(trouble)
    #expect(
      code { _ = try unlocked.addingSystemSlot(in: store, settings: .cheap) } == .secretStoreRefused)
    #expect(store.secrets.isEmpty)
  }

  @Test("A refused label stores no secret") func nothingIsStoredForALabelThatCannotBe() throws {
    let store = FakeStore()
    #expect(code { _ = try unlocked.addingSystemSlot(in: store, label: "\u{1B}", settings: .cheap) } == .badLabel)
    #expect(store.content.withLock { $0.labels.isEmpty })
  }

  @Test("The secret store is read only if the keyring has a system slot")
  func theStoreIsAskedOnlyWhereThereIsSuchASlot() throws {
    let store = FakeStore()
    #expect(code { _ = try unlocked.keyring.requiredSystemSecret(in: store) } == .noSlotOfThatKind)
    #expect(try unlocked.keyring.systemSecret(in: store) == nil)
    #expect(store.content.withLock { $0.asked.isEmpty })
    let keyring = try unlocked.addingSystemSlot(in: store, settings: .cheap).keyring
    #expect(code { _ = try keyring.requiredSystemSecret(in: FakeStore()) } == .notInSecretStore)
  }

  @Test("A system secret of another length is refused", arguments: [0, 31, 33])
  func anotherLengthIsNoSecret(count: Int) throws {
    let secret = secure(bytes: Array(repeating: 7, count: count))
    #expect(code { _ = try unlocked.adding(.system(secret), settings: .cheap) } == .badSystemSecret)
  }

  @Test("A secret of another kind with the same bytes does not open a system slot")
  func otherKindsWithTheSameBytesDoNotOpenIt() throws {
    let bytes = (0..<32).map { UInt8($0) }
    let keyring = try unlocked.adding(.system(secure(bytes: bytes)), settings: .cheap).keyring
    #expect(code { _ = try keyring.unlock(with: .keyFile(secure(bytes: bytes))) } == .wrongSecret)
    #expect(try keyring.unlock(with: .system(secure(bytes: bytes))).slotID == keyring.slots.last?.id)
  }

  @Test("Hexadecimal digits are read in either case, and other characters are refused")
  func hexadecimalDigitsAreReadBack() throws {
    let all = secure(bytes: Array(0...255))
    let text = try all.hexText()
    #expect(try SecureBytes.bytes(ofHex: text)?.isEqual(to: all) == true)
    let upper = secure(VaultKeysTests.text(text).uppercased())
    #expect(try SecureBytes.bytes(ofHex: upper)?.isEqual(to: all) == true)
    let digits = Set("0123456789abcdefABCDEF".utf8)
    for byte in UInt8.min...UInt8.max where !digits.contains(byte) {
      #expect(try SecureBytes.bytes(ofHex: secure(bytes: [0x30, byte])) == nil, "byte \(byte)")
    }
    #expect(try SecureBytes.bytes(ofHex: secure("abc")) == nil)
  }
}

#if os(Linux)
  /// Calls of libsecret in this process. The user's own secrets are safe: the tests with a store run only if a variable
  /// declares a test session.
  @Suite(.serialized) struct SecretServiceTests {
    private static let variables = ProcessInfo.processInfo.environment
    private static let hasTestStore = variables["FIELDVAULT_TEST_SECRET_STORE"] == "1"
    private static let hasBus = variables["DBUS_SESSION_BUS_ADDRESS"] != nil || variables["XDG_RUNTIME_DIR"] != nil

    @Test(
      "Without a session bus the secret store is reported as missing",
      .enabled(if: !hasBus, "this process has a session"))
    func withoutASessionThereIsAnError() throws {
      let service = SecretService()
      for _ in 0..<3 {
        #expect(code { _ = try service.secret(vaultID: "v", slotID: "s") } == .secretStoreMissing)
      }
      #expect(code { try service.remove(vaultID: "v", slotID: "s") } == .secretStoreMissing)
      let secret = secure(bytes: Array(0..<32))
      #expect(
        code { try service.store(secret, vaultID: "v", slotID: "s", label: "l") } == .secretStoreMissing)
    }

    @Test("Overlong vault and slot ids are refused") func namesThatAreTooLongAreRefused() {
      let long = String(repeating: "x", count: 64)
      #expect(code { _ = try SecretService().secret(vaultID: long, slotID: "s") } == .secretStoreRefused)
      #expect(code { _ = try SecretService().secret(vaultID: "v", slotID: long) } == .secretStoreRefused)
    }

    @Test(
      "The secret store keeps, replaces and removes a secret",
      .enabled(if: hasTestStore, "FIELDVAULT_TEST_SECRET_STORE=1 says that the session is one for tests"))
    func aSecretIsKeptReplacedAndForgotten() throws {
      let service = SecretService()
      let vault = UUID().uuidString.lowercased()
      #expect(try service.secret(vaultID: vault, slotID: "00000001") == nil)
      for round in UInt8(0)..<20 {
        let secret = secure(bytes: (0..<32).map { $0 ^ round })
        try service.store(secret, vaultID: vault, slotID: "00000001", label: "a test, \u{FC} \(round)")
        #expect(try service.secret(vaultID: vault, slotID: "00000001")?.isEqual(to: secret) == true)
        #expect(try service.secret(vaultID: vault, slotID: "00000002") == nil)
      }
      for bytes in [31, 33, 60] {
        let odd = secure(bytes: Array(repeating: 7, count: bytes))
        try service.store(odd, vaultID: vault, slotID: "00000001", label: "")
        #expect(code { _ = try service.secret(vaultID: vault, slotID: "00000001") } == .badSystemSecret)
      }
      try service.remove(vaultID: vault, slotID: "00000001")
      try service.remove(vaultID: vault, slotID: "00000001")
      #expect(try service.secret(vaultID: vault, slotID: "00000001") == nil)
    }

    @Test(
      "A call to the secret store ends after its timeout",
      .enabled(if: hasTestStore, "FIELDVAULT_TEST_SECRET_STORE=1 says that the session is one for tests"))
    func aCallThatTakesTooLongEnds() {
      // No time at all: cancelled at once, or through in spite of that.
      let service = SecretService(busSeconds: 0, storeSeconds: 0)
      for _ in 0..<50 {
        let found = code { _ = try service.secret(vaultID: "v", slotID: "s") }
        #expect(found == nil || found == .secretStoreRefused)
      }
    }
  }
#endif
