import Platform
import TestSupport
import Testing

@testable import VaultKeys

@Suite("Session keys")
struct SessionKeyTests {
  private let unlocked: UnlockedKeyring

  init() throws {
    unlocked = try Keyring.create(with: .keyFile(SecureBytes.random(count: 64))).unlocked
  }

  @Test("A session key opens exactly its keyring, with the same database key")
  func opensItsKeyring() throws {
    let session = unlocked.sessionKey
    let again = try unlocked.keyring.unlock(with: session)
    #expect(again.databaseKey.isEqual(to: unlocked.databaseKey) && again.slotID == unlocked.slotID)
    for changed in [
      try unlocked.adding(.keyFile(SecureBytes.random(count: 64))), try unlocked.withNewGeneration(),
      try Keyring.create(with: .keyFile(SecureBytes.random(count: 64))).unlocked,
    ] {
      #expect(!session.opens(changed.keyring))
      #expect { _ = try changed.keyring.unlock(with: session) } throws: { ($0 as? KeyError)?.code == .wrongSecret }
    }
  }

  @Test("Without the root key no slot, no generation and no backup can be made")
  func hasNoRootKey() throws {
    let session = try unlocked.keyring.unlock(with: unlocked.sessionKey)
    let secret = UnlockSecret.keyFile(try SecureBytes.random(count: 64))
    let newer = try unlocked.adding(secret).keyring
    let steps: [() throws -> Void] = [
      { _ = try session.adding(secret) }, { _ = try session.withNewGeneration() }, { _ = try session.backupKey() },
      { _ = try session.following(newer) },
    ]
    for step in steps { #expect { try step() } throws: { ($0 as? KeyError)?.code == .secretRequired } }
    #expect(try session.following(unlocked.keyring).keyring == unlocked.keyring)
  }

  @Test("The bytes of a session key read back equal, and no other bytes are read")
  func serialized() throws {
    let bytes = try unlocked.sessionKey.serialized()
    #expect(bytes.count == SessionKey.serializedCount)
    let read = try bytes.withUnsafeBytes { try SessionKey(parsing: $0) }
    #expect(try read?.serialized().isEqual(to: bytes) == true)
    for index in 0..<72 {
      var changed = bytes.withUnsafeBytes { Array($0) }
      changed[index] = UInt8(ascii: "G")
      #expect(try changed.withUnsafeBytes { try SessionKey(parsing: $0) } == nil)
    }
    let short = bytes.withUnsafeBytes { Array($0.dropLast()) }
    #expect(try short.withUnsafeBytes { try SessionKey(parsing: $0) } == nil)
  }
}
