import Platform
import VaultKeys

/// The data of a key agent: the key of a vault, and the end of its time.
struct AgentSession {
  let key: SessionKey
  /// The end in milliseconds since 1970.
  let end: Int64

  /// The length of ``serialized()`` in bytes: the end, big-endian, then the key.
  static let serializedCount = endCount + SessionKey.serializedCount
  /// The length of the end in bytes.
  static let endCount = 8

  init(key: SessionKey, end: Int64) { (self.key, self.end) = (key, end) }

  /// Reads the bytes of ``serialized()``; `nil` for any other content.
  init?(parsing bytes: SecureBytes) throws(KeyError) {
    let parts = try bytes.withUnsafeBytes { all throws(KeyError) -> (end: Int64, key: SessionKey)? in
      guard all.count == Self.serializedCount, let end = Self.end(in: all),
        let key = try SessionKey(parsing: UnsafeRawBufferPointer(rebasing: all[Self.endCount...]))
      else { return nil }
      return (end, key)
    }
    guard let parts else { return nil }
    self.init(key: parts.key, end: parts.end)
  }

  /// Returns the value as bytes in guarded memory.
  func serialized() throws(KeyError) -> SecureBytes {
    let key = try key.serialized()
    return try SecureBytes(
      count: Self.serializedCount,
      filling: { target in
        target.copyBytes(from: endBytes)
        let rest = UnsafeMutableRawBufferPointer(rebasing: target[Self.endCount...])
        key.withUnsafeBytes { rest.copyMemory(from: $0) }
      })
  }

  /// The bytes of ``end``.
  var endBytes: [UInt8] { withUnsafeBytes(of: end.bigEndian) { Array($0) } }

  /// Returns the end at the beginning of bytes; `nil` for fewer bytes, and for a time without a text.
  static func end(in bytes: UnsafeRawBufferPointer) -> Int64? {
    guard bytes.count >= endCount else { return nil }
    let end = bytes[..<endCount].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    return TimestampText.range.contains(end) ? end : nil
  }
}

/// The time for which a vault stays unlocked.
enum UnlockTime {
  /// The allowed times in seconds.
  static let range = 1...(12 * 3600)
  static let standard = "15"

  /// Returns the seconds of a text: minutes, or a number with the unit `s`, `m` or `h`; `nil` for any other text and
  /// outside ``range``.
  static func seconds(_ text: String) -> Int? {
    let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits) else {
      return nil
    }
    let (seconds, isTooLong) = number.multipliedReportingOverflow(by: unit ?? 60)
    return !isTooLong && range.contains(seconds) ? seconds : nil
  }
}
