import CSodium
import FileServer
import Platform
import ServerStorage
import VaultKeys

/// The keys of an operator, from a file outside the database, under which the keys of accounts are wrapped.
///
/// The file has a key of 64 hexadecimal digits in each line. Accounts are wrapped under the first one; the others open
/// accounts that were wrapped before a rotation. A key is named by the digest of its bytes, so that a missing one can be told.
public final class SealKeys: Sendable {
  private struct Key: Sendable {
    let name: String
    let bytes: SecureBytes
  }

  private let path: String
  private let keys: Locked<[Key]>

  /// Reads a file. Only its owner may have the permission to read it.
  /// - Throws: ``ServerError`` with `badSealKeys`; `KeyError` without memory.
  public init(file path: String) throws {
    self.path = path
    keys = Locked(try Self.keys(in: path))
  }

  /// Adds a new key before the first line of a file, which is created if it is missing. Accounts are wrapped under it after a
  /// rotation.
  /// - Returns: the name of the key.
  /// - Throws: ``ServerError`` with `badSealKeys`, and the file is unchanged then.
  public static func addKey(to path: String, _ random: RandomSource = .system) throws -> String {
    var former: [UInt8] = []
    defer { sodium_memzero(&former, former.count) }
    if Files.exists(path) {
      guard try read(path).count < mostKeys else { throw tooMany(path) }
      former = try SecretFile.content(of: path, errors: .badSealKeys, limit: mostBytes)
    }
    let key = try SecureBytes.random(count: keyBytes, from: random)
    var content = key.withUnsafeBytes { bytes in bytes.flatMap { [HexText.digit($0 >> 4), HexText.digit($0 & 15)] } }
    content.append(0x0A)
    content += former
    defer { sodium_memzero(&content, content.count) }
    do {
      try content.withUnsafeBytes { try AtomicFile(path).replace(with: $0) }
    } catch {
      throw ServerError(.badSealKeys, "cannot write \(path): \(error)", hint: "check the path of the file")
    }
    return name(of: key)
  }

  private static func tooMany(_ path: String) -> ServerError {
    ServerError(
      .badSealKeys, "\(path) has more than \(mostKeys) keys", hint: "remove keys that no account needs any more")
  }

  /// The number of bytes of a key.
  private static let keyBytes = XChaCha.keyBytes
  private static let mostKeys = 100
  private static let mostBytes = mostKeys * (keyBytes * 2 + 2) + 1

  private static func keys(in path: String) throws -> [Key] {
    let keys = try read(path)
    if keys.isEmpty { throw ServerError(.badSealKeys, "\(path) has no key", remedy: .makeSealKey(file: path)) }
    return keys
  }

  private static func read(_ path: String) throws -> [Key] {
    var content = try SecretFile.content(of: path, errors: .badSealKeys, limit: mostBytes)
    defer { sodium_memzero(&content, content.count) }
    var keys: [Key] = []
    let lines = content.split(separator: 0x0A, omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let digits = line.last == 0x0D ? line.dropLast() : line
      // The line after the last end of line.
      if digits.isEmpty, index == lines.count - 1 { break }
      guard digits.count == keyBytes * 2, digits.allSatisfy({ HexText.value($0) < 16 }) else {
        throw ServerError(
          .badSealKeys, "line \(index + 1) of \(path) is no key of \(keyBytes * 2) hexadecimal digits",
          hint: "correct the line, or remove it if no account needs its key")
      }
      let bytes = try SecureBytes(count: keyBytes) { target in
        for place in 0..<keyBytes {
          let first = digits.startIndex + place * 2
          target[place] = HexText.value(digits[first]) << 4 | HexText.value(digits[first + 1])
        }
      }
      keys.append(Key(name: name(of: bytes), bytes: bytes))
    }
    guard keys.count <= mostKeys else { throw tooMany(path) }
    return keys
  }

  private static func name(of key: SecureBytes) -> String {
    let purpose = Array("name of a seal key".utf8)
    var digest = [UInt8](repeating: 0, count: 16)
    key.withUnsafeBytes { key in
      let start = key.bindMemory(to: UInt8.self).baseAddress
      _ = crypto_generichash(&digest, digest.count, purpose, UInt64(purpose.count), start, key.count)
    }
    return HexText.text(Array(digest.prefix(8)))
  }

  /// The name of the key under which accounts are wrapped.
  var current: String { keys.withLock { $0.first?.name ?? "" } }

  /// Returns a key. The file is read again if it has gained the key since it was last read.
  /// - Throws: ``ServerError`` with `badSealKeys` if the file lacks the key.
  private func key(_ name: String) throws -> Key {
    if let key = keys.withLock({ $0.first { $0.name == name } }) { return key }
    let read = try Self.keys(in: path)
    keys.withLock { $0 = read }
    guard let key = keys.withLock({ $0.first { $0.name == name } }) else {
      throw ServerError(
        .badSealKeys, "\(path) lacks the key \(name), under which the keys of accounts are wrapped",
        hint: "add the line of this key again; its name is the digest of its bytes")
    }
    return key
  }

  // MARK: Keys of accounts

  private static func context(_ account: AccountName) -> [UInt8] { Array("key of account \(account.folder)".utf8) }

  /// Returns a new key for an account.
  func makeSeal(_ random: RandomSource) -> AccountSeal { AccountSeal(wiping: random.bytes(AccountSeal.keyBytes)) }

  /// Returns the key of an account for storage beside its data: the name of the wrapping key, a dot, and the wrapped key in
  /// base64.
  func wrap(
    _ seal: AccountSeal, of account: AccountName, on connection: PostgresConnection, _ random: RandomSource
  ) throws -> String {
    let key = try key(Self.name(connection) ?? current)
    var bytes = seal.withKey { Array($0) }
    defer { sodium_memzero(&bytes, bytes.count) }
    let wrapped = key.bytes.withUnsafeBytes { XChaCha.seal(bytes, Self.context(account), key: $0, random) }
    return "\(key.name).\(Base64.text(wrapped))"
  }

  /// Returns the name of the key under which an account's key is wrapped.
  static func name(in wrapped: String) -> String { String(wrapped.prefix { $0 != "." }) }

  /// Opens the key of an account.
  /// - Throws: ``ServerError`` with `badSealKeys` if the file lacks the wrapping key, and with `damaged` if the wrapped key
  ///   was changed.
  func open(_ wrapped: String, of account: AccountName) throws -> AccountSeal {
    let key = try key(Self.name(in: wrapped))
    let bytes = Base64.bytes(wrapped.utf8.drop { $0 != UInt8(ascii: ".") }.dropFirst())
    let opened = bytes.flatMap { bytes in
      key.bytes.withUnsafeBytes { XChaCha.open(bytes, Self.context(account), key: $0) }
    }
    guard let opened, opened.count == AccountSeal.keyBytes else {
      throw ServerError(.damaged, "fieldvault.account has a damaged key of an account")
    }
    return AccountSeal(wiping: opened)
  }
}

// MARK: Wrapping key of the server

extension SealKeys {
  private static let known = Statement("SELECT seal_key FROM fieldvault.server")
  private static let adopted = Statement(
    "UPDATE fieldvault.server SET seal_key = coalesce(seal_key, $1::text) RETURNING seal_key")
  private static let replace = Statement("UPDATE fieldvault.server SET seal_key = $1::text")

  /// Returns the name of the key under which the keys of accounts are wrapped.
  static func name(_ connection: PostgresConnection) throws -> String? {
    try connection.run(known()).first { $0.optionalText(0) } ?? nil
  }

  /// Makes sure that a node has the keys of a database, and that the database has a wrapping key if the node has keys.
  /// - Throws: ``ServerError`` with `badSealKeys` without the key.
  static func check(_ keys: SealKeys?, _ connection: PostgresConnection) throws {
    guard let keys else {
      guard let name = try name(connection) else { return }
      throw ServerError(
        .badSealKeys,
        "the values in the database are sealed, and the keys of accounts are wrapped under the key \(name)",
        remedy: .nameSealKeys)
    }
    if let name = try connection.run(adopted(.text(keys.current))).first({ $0.text(0) }) { _ = try keys.key(name) }
  }

  /// Makes the first key of the file the wrapping key.
  /// - Returns: its name.
  /// - Throws: ``ServerError`` with `badSealKeys` if the file lacks the former one.
  func makeFirstKeyCurrent(_ connection: PostgresConnection) throws -> String {
    if let former = try Self.name(connection) { _ = try key(former) }
    let name = current
    _ = try connection.run(Self.replace(.text(name)))
    return name
  }

  private static let accountsOfOthers = Statement(
    """
    SELECT name, replace(account_id::text, '-', '') FROM fieldvault.account
    WHERE deleted_at IS NULL
      AND ($1::text IS NULL OR sealed_key IS NULL OR split_part(sealed_key, '.', 1) <> $1::text)
    ORDER BY account_id
    """)

  /// Returns the query for the accounts whose keys are not wrapped under a key; for all accounts with `nil`.
  static func accounts(wrappedOtherwiseThan name: String?) -> Statement.Command { accountsOfOthers(.optional(name)) }
}

/// XChaCha20-Poly1305 with the nonce before the ciphertext; see https://doc.libsodium.org/secret-key_cryptography/aead.
enum XChaCha {
  private static let nonceBytes = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
  private static let tagBytes = Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

  /// Encrypts bytes.
  /// - Parameter context: what the ciphertext belongs to. It opens only with an equal one.
  static func seal(
    _ bytes: [UInt8], _ context: [UInt8], key: UnsafeRawBufferPointer, _ random: RandomSource
  ) -> [UInt8] {
    let nonce = random.bytes(nonceBytes)
    var sealed = nonce + [UInt8](repeating: 0, count: bytes.count + tagBytes)
    withPointer(to: key) { key in
      sealed.withUnsafeMutableBufferPointer { target in
        guard let start = target.baseAddress else { return }
        _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
          start + nonceBytes, nil, bytes, UInt64(bytes.count), context, UInt64(context.count), nil, nonce, key)
      }
    }
    return sealed
  }

  /// Decrypts bytes; `nil` if they were changed, or sealed under another key or for another context.
  static func open(_ sealed: [UInt8], _ context: [UInt8], key: UnsafeRawBufferPointer) -> [UInt8]? {
    guard sealed.count >= nonceBytes + tagBytes else { return nil }
    var opened = [UInt8](repeating: 0, count: sealed.count - nonceBytes - tagBytes)
    let isIntact = withPointer(to: key) { key in
      sealed.withUnsafeBufferPointer { sealed in
        guard let start = sealed.baseAddress else { return false }
        return crypto_aead_xchacha20poly1305_ietf_decrypt(
          &opened, nil, nil, start + nonceBytes, UInt64(sealed.count - nonceBytes), context, UInt64(context.count),
          start, key) == 0
      }
    }
    return isIntact ? opened : nil
  }

  private static func withPointer<Result>(
    to key: UnsafeRawBufferPointer, _ body: (UnsafePointer<UInt8>) -> Result
  ) -> Result {
    guard let start = key.bindMemory(to: UInt8.self).baseAddress, key.count == keyBytes else {
      preconditionFailure("a key has \(keyBytes) bytes")
    }
    return body(start)
  }

  /// The number of bytes of a key.
  static let keyBytes = Int(crypto_aead_xchacha20poly1305_ietf_KEYBYTES)
}
