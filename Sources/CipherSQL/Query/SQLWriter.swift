import CSQLCipher

/// Writes a composed statement as text and gathers its values in the order of their placeholders.
///
/// The tables of a statement are named `t0`, `t1` and so on in the order in which they are first mentioned, so
/// that the same composition always gives the same text.
struct SQLWriter {
  private var text: [UInt8] = []
  private(set) var arguments: [SQLArgument] = []
  /// The reason why the statement cannot run. It is thrown when the statement is run.
  var problem: SQLError?
  private var qualifiers: [String] = []
  /// The tables of the enclosing SELECTs.
  var scope: [String] = []

  init() {
    text.reserveCapacity(512)
    arguments.reserveCapacity(8)
  }

  /// The finished statement.
  /// - Throws: ``SQLError`` with `misuse` when it was composed in a way that has no meaning.
  func finish() throws(SQLError) -> SQL {
    if let problem { throw problem }
    return SQL(raw: String(decoding: text, as: UTF8.self), arguments: arguments)
  }

  mutating func write(_ word: StaticString) {
    text.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
  }

  mutating func write(bytes: [UInt8]) { text.append(contentsOf: bytes) }

  mutating func bind(_ value: SQLArgument) {
    text.append(UInt8(ascii: "?"))
    arguments.append(value)
  }

  mutating func splice(_ sql: SQL) {
    text.append(contentsOf: sql.text.utf8)
    arguments.append(contentsOf: sql.arguments)
  }

  mutating func write(name: StaticString) { Self.write(name: name, to: &text) }

  mutating func write(qualifier: String) { Self.write(number: number(of: qualifier), to: &text) }

  /// The number of a table in this statement.
  mutating func number(of qualifier: String) -> Int {
    if let index = qualifiers.firstIndex(of: qualifier) { return index }
    qualifiers.append(qualifier)
    return qualifiers.count - 1
  }

  static func write(number: Int, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "t"))
    if number < 10 {
      text.append(UInt8(ascii: "0") + UInt8(number))
    } else {
      text.append(contentsOf: String(number).utf8)
    }
  }

  /// Writes a name of the schema; in quotes when it is a word of SQL or no plain word.
  static func write(name: StaticString, to text: inout [UInt8]) {
    let bytes = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    let isPlain =
      bytes.first.map { $0 > 0x39 } == true
      && bytes.allSatisfy { byte in
        (0x61...0x7a).contains(byte) || (0x41...0x5a).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x5f
      }
      && bytes.withMemoryRebound(to: CChar.self) { sqlite3_keyword_check($0.baseAddress, Int32($0.count)) } == 0
    if isPlain {
      text.append(contentsOf: bytes)
    } else {
      text.append(contentsOf: SQL.quoted(name.description).utf8)
    }
  }
}
