import Platform
import Testing

@testable import VaultKeys

/// A whole keyring text with a change in it and a checksum that fits again: what only the keys can find.
func forged(_ keyring: Keyring, _ change: (inout String) -> Void) -> [UInt8] {
  var text = String(decoding: keyring.serialized(), as: UTF8.self)
  let tail = Keyring.checksumLine(String(repeating: "0", count: 64)).utf8.count
  text = String(decoding: Array(text.utf8).dropLast(tail), as: UTF8.self)
  change(&text)
  return Array((text + Keyring.checksumLine(Digest.sha256Hex(Array(text.utf8)[...]))).utf8)
}

@Suite struct DamageTests {
  private let keyring: Keyring

  init() throws {
    let (_, first) = try Keyring.create(with: passphrase("right"), label: #"a "b" \ ü"#, settings: .cheap)
    keyring = try first.adding(keyFile(1), settings: .cheap)
      .adding(try RecoveryCode.random().unlockSecret(), settings: .cheap).keyring
  }

  @Test("A flipped bit anywhere in a keyring is damage") func everyFlippedBitIsDamage() throws {
    var file = keyring.serialized()
    for index in file.indices {
      for bit in 0..<8 {
        file[index] ^= 1 << UInt8(bit)
        #expect(code { _ = try Keyring(parsing: file) } == .damaged, "byte \(index), bit \(bit)")
        file[index] ^= 1 << UInt8(bit)
      }
    }
    #expect(try Keyring(parsing: file) == keyring)
  }

  @Test("A truncated or extended keyring is damage") func everyCutAndEveryAdditionIsDamage() throws {
    let file = keyring.serialized()
    for count in file.indices {
      #expect(code { _ = try Keyring(parsing: Array(file[..<count])) } == .damaged, "cut to \(count)")
    }
    #expect(code { _ = try Keyring(parsing: file + [0x0A]) } == .damaged)
    #expect(code { _ = try Keyring(parsing: [UInt8](repeating: 32, count: (1 << 20) + 1)) } == .damaged)
  }

  @Test(
    "Text that is not canonical is damage, even with a valid checksum",
    arguments: [
      ("  \"version\"", "   \"version\""), ("\"version\": 1,", "\"version\": 01,"),
      ("\"version\": 1,", "\"version\": 0,"),
      ("  \"vaultId\"", "  \"extra\": 1,\n  \"vaultId\""), ("\"kind\": \"key-file\"", "\"kind\": \"smart-card\""),
      ("\"number\": 1,", "\"number\": 0,"), ("\\\"b\\\"", "\\u0062"), ("ü", "\u{7}"), ("ü", "\u{202E}"),
      ("\"parameters\": {}", "\"parameters\": {\"opsLimit\": 1, \"memLimitBytes\": 8388608}"),
      ("createdAt\": \"2", "createdAt\": \"x"),
      ("fieldvault-keyring", "fieldvault-keyrinG"), ("{\n", "{\r\n"),
    ])
  func textThatIsNotCanonicalIsDamageEvenWithAFittingChecksum(from: String, to: String) throws {
    let file = forged(keyring) { $0 = $0.replacingFirst(from, with: to) }
    #expect(file != keyring.serialized())
    #expect(code { _ = try Keyring(parsing: file) } == .damaged)
  }

  @Test("A forged keyring is damaged for the right secret and refuses a wrong one")
  func aWrongSecretAndAForgedKeyringAreDifferent() throws {
    let usb = keyring.slots[1]
    let forgeries: [(from: String, to: String)] = [
      (Base64.text(usb.wrappedRootKey.ciphertext), Base64.text(usb.wrappedRootKey.ciphertext.reversed())),
      (Base64.text(usb.wrappedRootKey.nonce), Base64.text(usb.wrappedRootKey.nonce.reversed())),
      (usb.id, usb.id == "00000000" ? "00000001" : "00000000"),
      (Base64.text(keyring.mac), Base64.text(keyring.mac.reversed())),
      ("ü", "u"), ("\"number\": 1,", "\"number\": 2,"), (keyring.slots[0].createdAt, "2000-01-01T00:00:00.000Z"),
      (
        Base64.text(keyring.generation.wrappedDatabaseKey.nonce),
        Base64.text(keyring.generation.wrappedDatabaseKey.nonce.reversed())
      ),
    ]
    for (from, to) in forgeries {
      let read = try Keyring(parsing: forged(keyring) { $0 = $0.replacingFirst(from, with: to) })
      #expect(code { _ = try read.unlock(with: keyFile(1)) } == .damaged, "\(from) to \(to)")
      #expect(code { _ = try read.unlock(with: keyFile(2)) } == .wrongSecret, "\(from) to \(to)")
    }
  }

  @Test("A key slot of another vault is damage") func slotsCannotBeMovedBetweenVaults() throws {
    let (other, _) = try Keyring.create(with: keyFile(1), settings: .cheap)
    let mixed = Keyring(vaultID: keyring.vaultID, generation: keyring.generation, slots: other.slots, mac: keyring.mac)
    let read = try Keyring(parsing: mixed.serialized())
    #expect(code { _ = try read.unlock(with: keyFile(1)) } == .damaged)
  }

  @Test("A repeated key slot is damage") func theSameSlotTwiceIsDamage() throws {
    let twice = Keyring(
      vaultID: keyring.vaultID, generation: keyring.generation, slots: keyring.slots + keyring.slots, mac: keyring.mac)
    #expect(code { _ = try Keyring(parsing: twice.serialized()) } == .damaged)
  }

  @Test("A keyring of a newer version is reported as newer, not as damaged") func aNewerVersionIsNoDamage() throws {
    let file = forged(keyring) { $0 = $0.replacingFirst("\"version\": 1,", with: "\"version\": 2,\n  \"new\": true,") }
    #expect(code { _ = try Keyring(parsing: file) } == .newerFormat)
  }
}

extension String {
  func replacingFirst(_ old: String, with new: String) -> String {
    guard let range = firstRange(of: old) else { return self }
    return replacingCharacters(in: range, with: new)
  }

  private func replacingCharacters(in range: Range<Index>, with new: String) -> String {
    String(self[..<range.lowerBound]) + new + String(self[range.upperBound...])
  }
}
