/// The order of texts by their UTF-16 code units, which RFC 8785 (section 3.2.3) requires, computed from their UTF-8.
///
/// UTF-8 sorts by code point. The two orders differ in one respect: characters from U+10000 on are surrogates in UTF-16
/// and sort before U+E000 to U+FFFF. In UTF-8 the former begin with F0 to F4, the latter with EE or EF.
enum UTF16Order {
  case before, same, after

  static func compare(_ left: String, _ right: String) -> UTF16Order {
    let order = left.utf8.withContiguousStorageIfAvailable { left in
      right.utf8.withContiguousStorageIfAvailable { right in compare(left, right) }
    }
    if let order = order ?? nil { return order }
    // A String that came from Objective-C.
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    return left.withUnsafeBufferPointer { left in right.withUnsafeBufferPointer { right in compare(left, right) } }
  }

  private static func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> UTF16Order {
    let shared = min(left.count, right.count)
    var index = 0
    while index < shared, left[index] == right[index] { index += 1 }
    if index < shared { return rank(left[index]) < rank(right[index]) ? .before : .after }
    return left.count == right.count ? .same : left.count < right.count ? .before : .after
  }

  private static func rank(_ byte: UInt8) -> UInt8 {
    switch byte {
    case 0xF0...: byte - 2
    case 0xEE, 0xEF: byte + 5
    default: byte
    }
  }
}
