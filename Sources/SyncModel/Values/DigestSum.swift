/// The digest of several records: their number, and the sum of their digests as unsigned 256-bit big-endian numbers,
/// modulo 2^256.
///
/// The order of the records does not matter, and a record can be subtracted. A write therefore updates the sum without
/// reading other records.
package struct DigestSum: Equatable, Sendable {
  /// The words of the sum, the most significant first.
  private var words: [UInt64] = [0, 0, 0, 0]
  /// The number of records.
  package private(set) var count: Int64 = 0

  package init() {}

  /// Creates a sum from its summary; `nil` if the digest is not 64 hexadecimal digits.
  package init?(_ summary: DigestSummary) {
    guard let words = Self.words(of: summary.digest) else { return nil }
    (self.words, count) = (words, summary.count)
  }

  /// Adds a record.
  package mutating func add(_ record: RecordDigest) { add(record.digest) }

  /// Adds the digest of a record: 64 hexadecimal digits. Any other text counts as zero.
  package mutating func add(_ digest: String) {
    count += 1
    add(Self.words(of: digest) ?? [0, 0, 0, 0])
  }

  /// Subtracts the digest of a record that was added.
  package mutating func remove(_ digest: String) {
    count -= 1
    guard let words = Self.words(of: digest) else { return }
    // The two's complement: adding it is subtracting the number.
    var complement = words.map { ~$0 }
    for index in (0..<4).reversed() {
      let (sum, isOver) = complement[index].addingReportingOverflow(1)
      complement[index] = sum
      if !isOver { break }
    }
    add(complement)
  }

  /// Adds the records of another sum.
  package mutating func add(_ other: DigestSum) {
    count += other.count
    add(other.words)
  }

  private mutating func add(_ other: [UInt64]) {
    var carry: UInt64 = 0
    for index in (0..<4).reversed() {
      let (sum, isOver) = words[index].addingReportingOverflow(other[index])
      let (whole, isOverAgain) = sum.addingReportingOverflow(carry)
      words[index] = whole
      carry = isOver || isOverAgain ? 1 : 0
    }
  }

  /// The records so far.
  package var summary: DigestSummary {
    DigestSummary(
      count: count,
      digest: words.map { word in
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
      }.joined())
  }

  private static func words(of digest: String) -> [UInt64]? {
    var words: [UInt64] = [0, 0, 0, 0]
    var index = 0
    for byte in digest.utf8 {
      let digit: UInt8
      switch byte {
      case 0x30...0x39: digit = byte - 0x30
      case 0x61...0x66: digit = byte - 0x57
      default: return nil
      }
      if index == 64 { return nil }
      words[index / 16] = words[index / 16] << 4 | UInt64(digit)
      index += 1
    }
    return index == 64 ? words : nil
  }
}

extension RecordDigest {
  /// The part of an entity that a record belongs to: the last two hexadecimal digits of its UUID.
  package var bucket: String { Self.bucket(of: entityUuid) }

  /// Returns the bucket of a UUID.
  package static func bucket(of uuid: String) -> String { String(uuid.suffix(2)) }

  /// Creates the digest of a version of a record.
  /// - Parameters:
  ///   - createdAt: milliseconds since 1970-01-01 UTC.
  ///   - updatedAt: milliseconds since 1970-01-01 UTC.
  ///   - columns: the columns of the entity that do not always count.
  package init(
    _ entityType: String, _ entityUuid: String, version: Int64, createdAt: Int64, updatedAt: Int64, fields: SyncObject,
    columns: DigestColumns
  ) {
    let content: SyncValue = [
      "createdAt": .text(WireTime.text(createdAt)), "entityType": .text(entityType), "entityUuid": .text(entityUuid),
      "fields": .object(columns.counted(fields)), "updatedAt": .text(WireTime.text(updatedAt)),
    ]
    self.init(entityUuid: entityUuid, version: version, digest: content.digest)
  }
}

extension DigestSummary {
  /// The summary without records.
  package static let none = DigestSum().summary
}
