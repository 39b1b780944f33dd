extension SyncValue {
  /// This value as JSON without white space, for payloads and the wire.
  ///
  /// Integers have all their digits, a REAL the shortest text that reads back as the same number and as a REAL
  /// (`1.0`). Names are in the order of RFC 8785. Values that are nested deeper than ``greatestTextDepth`` are written, and
  /// refused when they are read.
  public var json: String { String(decoding: jsonBytes, as: UTF8.self) }

  /// ``json`` as UTF-8.
  public var jsonBytes: [UInt8] {
    var writer = JSONWriter(isCanonical: false)
    writer.write(self)
    return writer.bytes
  }

  /// This value as canonical JSON (RFC 8785), for digests and for breaking ties: one text for one value.
  ///
  /// Deviates from the RFC in one point: a number that no double holds, such as an integer beyond ±2^53, is written with all
  /// its digits, not as the double next to it, because two identifiers that differ in the last digit must not have one
  /// digest. For columns without such numbers any implementation of the RFC gives the same bytes.
  public var canonicalJSON: String { String(decoding: canonicalBytes, as: UTF8.self) }

  private var canonicalBytes: [UInt8] {
    var writer = JSONWriter(isCanonical: true)
    writer.write(self)
    return writer.bytes
  }

  /// SHA-256 of the UTF-8 of ``canonicalJSON``: 64 lower-case hexadecimal digits.
  public var digest: String {
    var digest = SHA256()
    canonicalBytes.withUnsafeBytes { digest.add($0) }
    return digest.hexDigest
  }
}
