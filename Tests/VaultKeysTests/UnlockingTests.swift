import Testing

@testable import VaultKeys

@Suite struct UnlockingTests {
  @Test("Each kind of key slot gives the same database key") func everyKindOfSlotGivesTheSameDatabaseKey() throws {
    let (_, first) = try Keyring.create(with: passphrase("correct horse"), label: "me", settings: .cheap)
    let code = try RecoveryCode.random()
    let all = try first.adding(keyFile(1), label: "usb", settings: .cheap)
      .adding(try code.unlockSecret(), label: "in the safe", settings: .cheap)
    let keyring = try Keyring(parsing: all.keyring.serialized())

    #expect(keyring.slots.map(\.kind) == [.passphrase, .keyFile, .recovery])
    #expect(keyring.slots.map(\.label) == ["me", "usb", "in the safe"])
    for (index, secret) in [passphrase("correct horse"), keyFile(1), try code.unlockSecret()].enumerated() {
      let unlocked = try keyring.unlock(with: secret)
      #expect(unlocked.slotID == keyring.slots[index].id)
      #expect(unlocked.databaseKey.isEqual(to: first.databaseKey))
    }
  }

  @Test("A new slot has the documented derivation parameters") func theDefaultsAreThoseThatAreDocumented() throws {
    let (keyring, unlocked) = try Keyring.create(with: passphrase("real cost"))
    #expect(keyring.slots[0].derivation == (try KeyDerivation(opsLimit: 3, memLimitBytes: 67_108_864)))
    #expect(!keyring.needsUpgrade)
    #expect(try keyring.unlock(with: passphrase("real cost")).databaseKey.isEqual(to: unlocked.databaseKey))
  }

  @Test("A wrong secret is reported as wrong, not as damage") func aWrongSecretIsNoDamage() throws {
    let (_, first) = try Keyring.create(with: passphrase("right"), settings: .cheap)
    let keyring = try first.adding(keyFile(1), settings: .cheap).keyring
    #expect(code { _ = try keyring.unlock(with: passphrase("wrong")) } == .wrongSecret)
    #expect(code { _ = try keyring.unlock(with: keyFile(2)) } == .wrongSecret)
    #expect(code { _ = try keyring.unlock(with: try RecoveryCode.random().unlockSecret()) } == .noSlotOfThatKind)
  }

  @Test("An impossible secret is refused with its own code") func whatCanBeNoSecretIsSaidBeforeAnyKeyIsTried() throws {
    let (keyring, _) = try Keyring.create(with: passphrase("right"), settings: .cheap)
    let long = secure(bytes: [UInt8](repeating: 65, count: (1 << 20) + 1))
    #expect(code { _ = try keyring.unlock(with: passphrase("")) } == .emptySecret)
    #expect(code { _ = try keyring.unlock(with: .passphrase(long)) } == .secretTooLong)
    #expect(code { _ = try keyring.unlock(with: .keyFile(secure("short"))) } == .badKeyFile)
    #expect(code { _ = try keyring.unlock(with: .recoveryCode(secure("ABCD"))) } == .badRecoveryCode)
    #expect(code { _ = try Keyring.create(with: passphrase(""), settings: .cheap) } == .emptySecret)
  }

  @Test("A passphrase is compared by its bytes, without Unicode normalization")
  func thePassphraseIsBytesWithoutNormalisation() throws {
    let composed = secure("\u{E9}")
    let decomposed = secure("e\u{301}")
    let (keyring, _) = try Keyring.create(with: .passphrase(composed), settings: .cheap)
    #expect(code { _ = try keyring.unlock(with: .passphrase(decomposed)) } == .wrongSecret)
    let (binary, _) = try Keyring.create(with: .passphrase(secure(bytes: [0, 0xFF, 0])), settings: .cheap)
    _ = try binary.unlock(with: .passphrase(secure(bytes: [0, 0xFF, 0])))
  }

  @Test("Errors have a hint and do not contain the secret") func errorsHaveAHintAndNoSecret() throws {
    let (keyring, _) = try Keyring.create(with: passphrase("right"), settings: .cheap)
    #expect {
      _ = try keyring.unlock(with: passphrase("hunter2"))
    } throws: { error in
      let text = String(describing: error) + String(reflecting: error)
      return !text.contains("hunter2") && text.contains("Caps Lock")
    }
  }

  @Test("Printing an unlocked keyring shows no key") func printingShowsNoKey() throws {
    let (_, unlocked) = try Keyring.create(with: passphrase("right"), settings: .cheap)
    var dumped = ""
    dump(unlocked, to: &dumped)
    dump(unlocked.databaseKey, to: &dumped)
    #expect(!dumped.contains("memory") && !dumped.contains("rootKey"))
    #expect("\(unlocked.databaseKey)" == "SecureBytes(32 bytes)")
  }
}
