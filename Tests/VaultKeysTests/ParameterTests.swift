import Testing

@testable import VaultKeys

@Suite struct ParameterTests {
  @Test(
    "Derivation parameters out of range are refused",
    arguments: [(0, 8 << 20), (65, 8 << 20), (1, (8 << 20) - 1024), (1, (1 << 30) + 1024), (1, (8 << 20) + 1)])
  func parametersOutOfRangeAreRefused(ops: Int, memory: Int) {
    #expect(code { _ = try KeyDerivation(opsLimit: ops, memLimitBytes: memory) } == .unacceptableParameters)
  }

  @Test("The least and greatest derivation parameters are accepted") func theBoundsThemselvesAreAccepted() throws {
    _ = try KeyDerivation(opsLimit: 1, memLimitBytes: 8 << 20)
    _ = try KeyDerivation(opsLimit: 64, memLimitBytes: 1 << 30)
  }

  @Test(
    "A keyring with derivation parameters out of range is refused before a key is derived",
    arguments: [
      ("\"opsLimit\": 1,", "\"opsLimit\": 4000000000,", "opsLimit", "1...64"),
      ("8388608", "1099511627776", "memLimitBytes", "8388608...1073741824"),
      ("8388608", "8192", "memLimitBytes", "8388608...1073741824"),
    ])
  func aHostileKeyringIsRefusedWhenItIsRead(from: String, to: String, field: String, range: String) throws {
    let (keyring, _) = try Keyring.create(with: passphrase("p"), settings: .cheap)
    let file = forged(keyring) { $0 = $0.replacingFirst(from, with: to) }
    #expect {
      _ = try Keyring(parsing: file)
    } throws: { error in
      guard let error = error as? KeyError else { return false }
      return error.code == .unacceptableParameters && error.message.contains(field) && error.message.contains(range)
    }
  }

  @Test("A weak slot is upgraded with its passphrase and keeps its label") func aWeakSlotIsUpgradedWithItsPassphrase()
    throws
  {
    let (keyring, unlocked) = try Keyring.create(with: passphrase("p"), label: "me", settings: .cheap)
    #expect(keyring.needsUpgrade)
    let id = keyring.slots[0].id
    #expect(code { _ = try unlocked.upgradingPassphrase(of: id, secure("q")) } == .wrongSecret)
    let upgraded = try unlocked.upgradingPassphrase(of: id, secure("p"))
    #expect(!upgraded.keyring.needsUpgrade)
    #expect(upgraded.keyring.slots[0].derivation == .standard)
    #expect(upgraded.keyring.slots[0].createdAt == keyring.slots[0].createdAt)
    #expect(upgraded.keyring.slots[0].label == "me")
    _ = try upgraded.keyring.unlock(with: passphrase("p"))
  }

  @Test("An upgrade lowers no derivation parameter") func upgradingLowersNothing() throws {
    let costly = KeyringSettings(derivation: try KeyDerivation(opsLimit: 5, memLimitBytes: 8 << 20))
    let (keyring, unlocked) = try Keyring.create(with: passphrase("p"), settings: costly)
    let raised = try unlocked.upgradingPassphrase(
      of: keyring.slots[0].id, secure("p"),
      settings: KeyringSettings(derivation: try KeyDerivation(opsLimit: 2, memLimitBytes: 16 << 20)))
    #expect(raised.keyring.slots[0].derivation == (try KeyDerivation(opsLimit: 5, memLimitBytes: 16 << 20)))
  }
}
