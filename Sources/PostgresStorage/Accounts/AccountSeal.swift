import CSodium
import FileServer
import Platform
import ServerStorage

/// The key of an account, which is 32 bytes to seal texts and 32 bytes for the codes of texts in indexes.
///
/// The key is in ordinary memory for the time of a transaction, as are the records that it opens.
final class AccountSeal {
  static let keyBytes = sealBytes + codeBytes
  private static let sealBytes = XChaCha.keyBytes
  private static let codeBytes = Int(crypto_auth_hmacsha256_KEYBYTES)

  private let memory: UnsafeMutableRawBufferPointer

  /// Copies a key of ``keyBytes`` and wipes the bytes.
  init(wiping bytes: consuming [UInt8]) {
    memory = .allocate(byteCount: Self.keyBytes, alignment: 16)
    memory.copyBytes(from: bytes)
    sodium_memzero(&bytes, bytes.count)
  }

  deinit {
    sodium_memzero(memory.baseAddress, memory.count)
    memory.deallocate()
  }

  func withKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { body(UnsafeRawBufferPointer(memory)) }

  private var sealKey: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<Self.sealBytes]) }

  /// Seals a text, which opens only at the same place.
  func seal(_ text: String, at place: String, _ random: RandomSource) -> String {
    Base64.text(XChaCha.seal(Array(text.utf8), Array(place.utf8), key: sealKey, random))
  }

  /// Opens a text; `nil` if it was changed or sealed for another place.
  func open(_ sealed: String, at place: String) -> String? {
    Base64.bytes(sealed.utf8).flatMap { XChaCha.open($0, Array(place.utf8), key: sealKey) }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the HMAC-SHA-256 of a text in hexadecimal digits.
  func code(_ text: String) -> String {
    HexText.text(HMAC.sha256(text, keyed: UnsafeRawBufferPointer(rebasing: memory[Self.sealBytes...])))
  }
}

/// The form in which the values of an account are stored: as they are, or sealed.
///
/// Sealed are the values of fields and keys, responses, and digests. Not sealed are the names of entities, records, fields,
/// projects and devices, references by UUID, versions and times. A unique value, and the value by which a record references
/// another one, are codes of which equal values have equal ones.
struct ValueForm {
  private let sealing: (seal: AccountSeal, random: RandomSource)?
  /// The form of values that are not rewritten yet, at most one.
  private let former: [ValueForm]

  /// The form of an account without a key.
  static var unsealed: ValueForm { ValueForm() }

  private init() { (sealing, former) = (nil, []) }

  /// Creates the form of values that are sealed under a key.
  init(_ seal: AccountSeal, replacing former: ValueForm? = nil, _ random: RandomSource) {
    sealing = (seal, random)
    self.former = former.map { [$0] } ?? []
  }

  /// Where a text is stored. A sealed text opens at no other place.
  struct Place {
    /// The table and the column, the key of the row, and the version of a record.
    let text: String

    private init(_ words: String...) { text = words.joined(separator: "\0") }

    static func record(_ column: String, _ entityType: String, _ uuid: String, version: Int64) -> Place {
      Place("record.\(column)", entityType, uuid, String(version))
    }
    static func bucket(_ name: BucketName) -> Place {
      Place("bucket.digest", name.entityType, name.project, name.bucket)
    }
    /// - Parameter key: the idempotency key in its form in the index.
    static func response(_ column: String, _ key: String) -> Place { Place("response.\(column)", key) }
    /// - Parameter id: the id of the device in its form in the index.
    static func device(_ id: String) -> Place { Place("device.digest", id) }
  }

  /// Returns the stored form of a text.
  func stored(_ text: String, at place: @autoclosure () -> Place) -> String {
    sealing.map { $0.seal.seal(text, at: place().text, $0.random) } ?? text
  }

  /// Returns the text of a stored form.
  /// - Throws: ``ServerError`` with `damaged` if it was changed, or stored at another place.
  func text(_ stored: String, at place: @autoclosure () -> Place) throws -> String {
    guard let sealing else { return stored }
    let place = place()
    guard let text = try sealing.seal.open(stored, at: place.text) ?? former.first?.text(stored, at: place) else {
      throw ServerError(.damaged, "a sealed value of fieldvault.\(place.text.prefix { $0 != "\0" }) does not open")
    }
    return text
  }

  /// Returns the form of a unique value or the target of a reference in an index.
  func indexed(_ value: String) -> String {
    guard let sealing, !UUIDText.isCanonical(value) else { return IndexText.of(value) }
    return "#" + sealing.seal.code(value)
  }
}
