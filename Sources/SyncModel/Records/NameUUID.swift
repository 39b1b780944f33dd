/// UUIDs that are derived from names and equal on each device: version 8 of RFC 9562, built from SHA-256 as its appendix
/// B.2 shows.
package enum NameUUID {
  /// Returns the UUID of a list of names as lowercase text. The order of the names counts.
  package static func text(_ names: [String]) -> String {
    var hash = SHA256()
    hash.add(SyncValue.array(names.map { .text($0) }).json)
    var digits = Array(hash.hexDigest.utf8.prefix(32))
    digits[12] = UInt8(ascii: "8")
    // The variant is two bits of the next group: 8 to b.
    let value = digits[16] < 58 ? digits[16] - 48 : digits[16] - 87
    digits[16] = Array("89ab".utf8)[Int(value & 3)]
    let groups = [digits[0..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20..<32]]
    return groups.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "-")
  }
}
