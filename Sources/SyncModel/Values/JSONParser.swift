/// Parses JSON byte by byte.
///
/// Foundation's `JSONSerialization` is not suitable: for a duplicate name it silently uses the last value; it writes
/// 1.0 as 1, so that a REAL becomes an INTEGER; it rounds integers over 64 bits; and its errors name no place.
struct JSONParser {
  let bytes: [UInt8]
  var offset = 0
  private var depth = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func document() throws(SyncModelError) -> SyncValue {
    skipWhiteSpace()
    let value = try value()
    skipWhiteSpace()
    guard offset == bytes.count else {
      throw SyncModelError(.trailingText, "there is text after the JSON value", byteOffset: offset)
    }
    return value
  }

  private mutating func value() throws(SyncModelError) -> SyncValue {
    switch try peek() {
    case UInt8(ascii: "{"): try nested { parser throws(SyncModelError) in try parser.object() }
    case UInt8(ascii: "["): try nested { parser throws(SyncModelError) in try parser.array() }
    case UInt8(ascii: "\""): .text(try string())
    case UInt8(ascii: "t"): try word("true", .bool(true))
    case UInt8(ascii: "f"): try word("false", .bool(false))
    case UInt8(ascii: "n"): try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    default: throw unexpected()
    }
  }

  private mutating func nested(
    _ read: (inout JSONParser) throws(SyncModelError) -> SyncValue
  ) throws(SyncModelError) -> SyncValue {
    guard depth < SyncValue.greatestTextDepth else {
      throw SyncModelError(
        .tooDeep, "JSON is nested more than \(SyncValue.greatestTextDepth) deep", byteOffset: offset)
    }
    depth += 1
    offset += 1
    let value = try read(&self)
    depth -= 1
    return value
  }

  private mutating func array() throws(SyncModelError) -> SyncValue {
    var elements: [SyncValue] = []
    skipWhiteSpace()
    if try take("]") { return .array(elements) }
    while true {
      skipWhiteSpace()
      elements.append(try value())
      skipWhiteSpace()
      if try take("]") { return .array(elements) }
      try expect(",")
    }
  }

  private mutating func object() throws(SyncModelError) -> SyncValue {
    var members: [SyncObject.Member] = []
    var offsets: [Int] = []
    // Most texts come from a program that writes the names in order.
    var isOrdered = true
    skipWhiteSpace()
    if try take("}") { return .object(SyncObject()) }
    while true {
      skipWhiteSpace()
      offsets.append(offset)
      guard try peek() == UInt8(ascii: "\"") else { throw unexpected() }
      let name = try string()
      skipWhiteSpace()
      try expect(":")
      skipWhiteSpace()
      if isOrdered, let last = members.last { isOrdered = UTF16Order.compare(last.name, name) == .before }
      members.append(SyncObject.Member(name: name, value: try value()))
      skipWhiteSpace()
      if try take("}") {
        return .object(isOrdered ? SyncObject(ordered: members) : try Self.ordered(members, offsets))
      }
      try expect(",")
    }
  }

  private static func ordered(
    _ members: [SyncObject.Member], _ offsets: [Int]
  ) throws(SyncModelError) -> SyncObject {
    let sorted = members.indices.sorted { left, right in
      switch UTF16Order.compare(members[left].name, members[right].name) {
      case .before: true
      case .same: left < right
      case .after: false
      }
    }
    let repeated = zip(sorted, sorted.dropFirst()).filter {
      UTF16Order.compare(members[$0].name, members[$1].name) == .same
    }
    if let first = repeated.map(\.1).min() {
      throw SyncModelError(.duplicateName, "a name stands twice in one JSON object", byteOffset: offsets[first])
    }
    return SyncObject(ordered: sorted.map { members[$0] })
  }

  // MARK: Bytes

  func peek() throws(SyncModelError) -> UInt8 {
    guard offset < bytes.count else {
      throw SyncModelError(.unexpectedEnd, "the JSON ends too early", byteOffset: bytes.count)
    }
    return bytes[offset]
  }

  mutating func take(_ character: Unicode.Scalar) throws(SyncModelError) -> Bool {
    guard try peek() == UInt8(ascii: character) else { return false }
    offset += 1
    return true
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(SyncModelError) {
    guard try take(character) else { throw unexpected() }
  }

  private mutating func word(_ word: String, _ value: SyncValue) throws(SyncModelError) -> SyncValue {
    for byte in word.utf8 {
      guard try peek() == byte else { throw unexpected() }
      offset += 1
    }
    return value
  }

  private mutating func skipWhiteSpace() {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return
      }
    }
  }

  func unexpected() -> SyncModelError {
    guard offset < bytes.count else {
      return SyncModelError(.unexpectedEnd, "the JSON ends too early", byteOffset: bytes.count)
    }
    return SyncModelError(.syntax, "this is not JSON", byteOffset: offset)
  }
}
