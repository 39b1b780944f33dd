/// A value of a parameter, in PostgreSQL's binary format.
enum PostgresValue {
  case null
  case integer(Int64)
  case text(String)
  case flag(Bool)
  case bytes([UInt8])
  case integers([Int64?])
  case texts([String?])
  case flags([Bool])

  /// An optional text.
  static func optional(_ text: String?) -> PostgresValue { text.map { .text($0) } ?? .null }

  /// Appends the bytes of the value. Returns `false` for NULL, which has none.
  func append(to buffer: inout [UInt8]) -> Bool {
    switch self {
    case .null: return false
    case .integer(let number): Self.append(number, to: &buffer)
    case .text(let text): buffer += text.utf8
    case .flag(let flag): buffer.append(flag ? 1 : 0)
    case .bytes(let bytes): buffer += bytes
    case .integers(let numbers):
      Self.append(numbers, of: Oid.int8, to: &buffer) { number, buffer in Self.append(number, to: &buffer) }
    case .texts(let texts):
      Self.append(texts, of: Oid.text, to: &buffer) { text, buffer in buffer += text.utf8 }
    case .flags(let flags):
      Self.append(flags, of: Oid.bool, to: &buffer) { flag, buffer in buffer.append(flag ? 1 : 0) }
    }
    return true
  }

  /// The numbers of types, which are the same in all databases.
  private enum Oid {
    static let bool: Int32 = 16
    static let int8: Int32 = 20
    static let text: Int32 = 25
  }

  /// Appends an array of one dimension: the number of dimensions, whether it has NULLs, the type, and for the dimension
  /// its size and first index. Each element follows its length; -1 is NULL.
  private static func append<Element>(
    _ elements: [Element?], of type: Int32, to buffer: inout [UInt8], _ write: (Element, inout [UInt8]) -> Void
  ) {
    append(Int32(elements.isEmpty ? 0 : 1), to: &buffer)
    append(Int32(elements.contains { $0 == nil } ? 1 : 0), to: &buffer)
    append(type, to: &buffer)
    if elements.isEmpty { return }
    append(Int32(elements.count), to: &buffer)
    append(Int32(1), to: &buffer)
    for element in elements {
      guard let element else {
        append(Int32(-1), to: &buffer)
        continue
      }
      let place = buffer.count
      append(Int32(0), to: &buffer)
      write(element, &buffer)
      let length = Int32(buffer.count - place - 4)
      withUnsafeBytes(of: length.bigEndian) { buffer.replaceSubrange(place..<place + 4, with: $0) }
    }
  }

  private static func append(_ number: some FixedWidthInteger, to buffer: inout [UInt8]) {
    withUnsafeBytes(of: number.bigEndian) { buffer += $0 }
  }
}
