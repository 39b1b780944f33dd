import Testing

@testable import VaultKeys

@Suite struct SlotTests {
  @Test("The last key slot cannot be removed") func theLastSlotStays() throws {
    let (keyring, unlocked) = try Keyring.create(with: keyFile(1), settings: .cheap)
    #expect(code { _ = try unlocked.removingSlot(keyring.slots[0].id) } == .lastSlot)
    #expect(code { _ = try unlocked.removingSlot("ffffffff") } == .noSuchSlot)
  }

  @Test("The slot that opened the keyring can be removed") func theSlotThatOpenedItCanBeRemoved() throws {
    let (keyring, unlocked) = try Keyring.create(with: keyFile(1), settings: .cheap)
    let changed = try unlocked.adding(keyFile(2), settings: .cheap).removingSlot(keyring.slots[0].id)
    #expect(code { _ = try changed.keyring.unlock(with: keyFile(1)) } == .wrongSecret)
    let again = try changed.keyring.unlock(with: keyFile(2))
    #expect(again.databaseKey.isEqual(to: unlocked.databaseKey))
  }

  @Test("Changing a passphrase changes only its slot") func changingAPassphraseTouchesOneSlot() throws {
    let (keyring, unlocked) = try Keyring.create(with: passphrase("old"), label: "me", settings: .cheap)
    let two = try unlocked.adding(keyFile(2), settings: .cheap)
    let changed = try two.changingPassphrase(of: keyring.slots[0].id, to: secure("new"), settings: .cheap).keyring
    #expect(changed.slots.map(\.id) == two.keyring.slots.map(\.id))
    #expect(changed.slots[0].label == "me")
    #expect(changed.slots[1] == two.keyring.slots[1])
    #expect(code { _ = try changed.unlock(with: passphrase("old")) } == .wrongSecret)
    _ = try changed.unlock(with: passphrase("new"))
    #expect(code { _ = try two.changingPassphrase(of: changed.slots[1].id, to: secure("x")) } == .noSuchSlot)
    #expect(code { _ = try two.changingPassphrase(of: changed.slots[0].id, to: secure("")) } == .emptySecret)
  }

  @Test("A keyring has at most 64 slots") func sixtyFourSlotsAreTheMost() throws {
    var (_, unlocked) = try Keyring.create(
      with: keyFile(0), label: String(repeating: "x", count: 200), settings: .cheap)
    for number in 1..<64 { unlocked = try unlocked.adding(keyFile(number), settings: .cheap) }
    let keyring = try Keyring(parsing: unlocked.keyring.serialized())
    #expect(try keyring.unlock(with: keyFile(63)).slotID == keyring.slots[63].id)
    #expect(code { _ = try unlocked.adding(keyFile(64), settings: .cheap) } == .limitReached)
  }

  @Test(
    "Labels with control characters and overlong labels are refused",
    arguments: ["a\nb", "a\u{1B}[31m", "\u{202E}x", String(repeating: "x", count: 201)])
  func labelsThatATerminalWouldObeyAreRefused(label: String) throws {
    #expect(code { _ = try Keyring.create(with: keyFile(0), label: label, settings: .cheap) } == .badLabel)
  }
}

@Suite struct RotationTests {
  @Test("A new generation has another database key and the same slots")
  func aNewGenerationHasAnotherKeyAndTheSameSlots() throws {
    let (_, first) = try Keyring.create(with: keyFile(1), settings: .cheap)
    let two = try first.adding(passphrase("p"), settings: .cheap)
    let rotated = try two.withNewGeneration(settings: .cheap)
    #expect(rotated.keyring.generation.number == 2)
    #expect(rotated.keyring.slots == two.keyring.slots)
    #expect(!rotated.databaseKey.isEqual(to: two.databaseKey))
    for secret in [keyFile(1), passphrase("p")] {
      #expect(try rotated.keyring.unlock(with: secret).databaseKey.isEqual(to: rotated.databaseKey))
      #expect(try two.keyring.unlock(with: secret).databaseKey.isEqual(to: two.databaseKey))
    }
  }

  @Test("A new root key drops the slots whose secret is not available")
  func aNewRootKeyDropsTheSlotsWhoseSecretIsNotAtHand() throws {
    let (_, first) = try Keyring.create(with: keyFile(1), label: "usb", settings: .cheap)
    let three = try first.adding(passphrase("p"), settings: .cheap).adding(keyFile(2), label: "old", settings: .cheap)
    let (fresh, dropped) = try three.withNewRootKey(keeping: [keyFile(1), passphrase("p")], settings: .cheap)
    #expect(dropped.map(\.label) == ["old"])
    #expect(fresh.keyring.slots.map(\.id) == Array(three.keyring.slots.map(\.id).prefix(2)))
    #expect(fresh.keyring.vaultID == three.keyring.vaultID && fresh.keyring.generation.number == 2)
    #expect(try !fresh.rootKey.isEqual(to: three.rootKey))
    for secret in [keyFile(1), passphrase("p")] {
      #expect(try fresh.keyring.unlock(with: secret).databaseKey.isEqual(to: fresh.databaseKey))
    }
    #expect(code { _ = try fresh.keyring.unlock(with: keyFile(2)) } == .wrongSecret)
    #expect(code { _ = try three.withNewRootKey(keeping: [], settings: .cheap) } == .lastSlot)
    #expect(code { _ = try three.withNewRootKey(keeping: [keyFile(9)], settings: .cheap) } == .wrongSecret)
  }

  @Test("An unlocked keyring follows changes by another process")
  func anUnlockedKeyringFollowsChangesOfAnotherProcess() throws {
    let (keyring, ours) = try Keyring.create(with: keyFile(1), settings: .cheap)
    let theirs = try keyring.unlock(with: keyFile(1))
    let changed = try theirs.adding(keyFile(2), settings: .cheap).withNewGeneration(settings: .cheap)
    let followed = try ours.following(Keyring(parsing: changed.keyring.serialized()))
    #expect(followed.databaseKey.isEqual(to: changed.databaseKey))
    #expect(followed.keyring == changed.keyring)
    let replaced = try theirs.withNewRootKey(keeping: [keyFile(1)], settings: .cheap).unlocked
    #expect(code { _ = try ours.following(replaced.keyring) } == .wrongSecret)
    let other = try Keyring.create(with: keyFile(1), settings: .cheap).keyring
    #expect(code { _ = try ours.following(other) } == .wrongSecret)
  }
}
