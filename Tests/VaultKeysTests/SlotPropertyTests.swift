import TestSupport
import Testing

@testable import VaultKeys

/// Random sequences of changes against a model: which secret is alive in which slot.
@Suite struct SlotPropertyTests {
  private struct Model {
    var live: [String: Int] = [:]
    var dead: Set<Int> = []
    var nextSecret = 0
  }

  /// Every third secret is a passphrase, the others are key files.
  private func secret(_ number: Int) -> UnlockSecret {
    number.isMultiple(of: 3) ? passphrase("secret \(number)") : keyFile(number)
  }

  @Test(
    "After random slot operations each current secret opens the keyring, and each removed one is refused",
    arguments: [UInt64.random(in: 0...UInt64.max), 1, 20_261_121])
  func everyLiveSecretOpensAndNoDeadOneDoes(seed: UInt64) throws {
    print("slot operations, seed \(seed)")
    var generator = Seeded(seed)
    var model = Model()
    var (_, unlocked) = try Keyring.create(with: secret(0), settings: .cheap)
    model.live[unlocked.slotID] = 0
    model.nextSecret = 1
    for _ in 0..<30 {
      unlocked = try step(unlocked, &model, &generator)
      let read = try Keyring(parsing: unlocked.keyring.serialized())
      #expect(Set(read.slots.map(\.id)) == Set(model.live.keys), "seed \(seed)")
      try check(
        read, model.live.values.randomElement(using: &generator).map { [$0] } ?? [], opens: true, unlocked, seed)
      try check(read, model.dead.randomElement(using: &generator).map { [$0] } ?? [], opens: false, unlocked, seed)
      // Go on from what was written, through any secret that opens it.
      if let next = model.live.values.randomElement(using: &generator) {
        unlocked = try read.unlock(with: secret(next))
      }
    }
    try check(unlocked.keyring, Array(model.live.values), opens: true, unlocked, seed)
    try check(unlocked.keyring, Array(model.dead), opens: false, unlocked, seed)
  }

  private func step(
    _ unlocked: UnlockedKeyring, _ model: inout Model, _ generator: inout Seeded
  ) throws -> UnlockedKeyring {
    let id = unlocked.keyring.slots.map(\.id).randomElement(using: &generator) ?? ""
    let fresh = model.nextSecret
    switch Int.random(in: 0..<8, using: &generator) {
    case 0...2 where model.live.count < 5:
      model.nextSecret += 1
      let changed = try unlocked.adding(secret(fresh), settings: .cheap)
      model.live[changed.keyring.slots.last?.id ?? ""] = fresh
      return changed
    case 3, 4:
      guard model.live.count > 1 else {
        #expect(code { _ = try unlocked.removingSlot(id) } == .lastSlot)
        return unlocked
      }
      if let old = model.live.removeValue(forKey: id) { model.dead.insert(old) }
      return try unlocked.removingSlot(id)
    case 5, 6:
      let passphraseNumber = (fresh + 2) / 3 * 3
      guard try unlocked.keyring.slot(id).kind == .passphrase else { return unlocked }
      model.nextSecret = passphraseNumber + 1
      if let old = model.live.updateValue(passphraseNumber, forKey: id) { model.dead.insert(old) }
      return try unlocked.changingPassphrase(
        of: id, to: secure("secret \(passphraseNumber)"), settings: .cheap)
    default:
      return try unlocked.withNewGeneration(settings: .cheap)
    }
  }

  private func check(
    _ keyring: Keyring, _ numbers: [Int], opens: Bool, _ unlocked: UnlockedKeyring, _ seed: UInt64
  ) throws {
    for number in numbers {
      if opens {
        let again = try keyring.unlock(with: secret(number))
        #expect(again.databaseKey.isEqual(to: unlocked.databaseKey), "seed \(seed), secret \(number)")
      } else {
        let refused = code { _ = try keyring.unlock(with: secret(number)) }
        #expect([.wrongSecret, .noSlotOfThatKind].contains(refused), "seed \(seed), secret \(number)")
      }
    }
  }
}
