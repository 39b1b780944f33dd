/// The order of texts by their UTF-16 code units, which RFC 8785 (section 3.2.3) wants, compared on their UTF-8.
///
/// UTF-8 sorts by code point. The two orders differ in one respect: characters from U+10000 on are surrogates in
/// UTF-16 and sort before U+E000 to U+FFFF. In UTF-8 those begin with F0 to F4, these with EE or EF.
enum UTF16Order {
  case before, same, after

  static func compare(_ left: String, _ right: String) -> UTF16Order {
    var left = left.utf8.makeIterator()
    var right = right.utf8.makeIterator()
    while true {
      switch (left.next(), right.next()) {
      case (nil, nil): return .same
      case (nil, _): return .before
      case (_, nil): return .after
      case (let one?, let other?):
        if one != other { return rank(one) < rank(other) ? .before : .after }
      }
    }
  }

  private static func rank(_ byte: UInt8) -> UInt8 {
    switch byte {
    case 0xF0...: byte - 2
    case 0xEE, 0xEF: byte + 5
    default: byte
    }
  }
}
