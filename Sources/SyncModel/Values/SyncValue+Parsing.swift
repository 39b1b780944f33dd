extension SyncValue {
  /// How deep arrays and objects may be nested in a value of a column: `[[1]]` is 2 deep.
  public static let greatestDepth = 64
  /// How deep they may be nested in a text that is read: a message has values of columns inside.
  public static let greatestTextDepth = greatestDepth + 8

  /// Reads one JSON value (RFC 8259) that fills the text.
  ///
  /// A number without point and exponent that 64 bits hold is an integer. Any other is a REAL when it has the digits of a double, the
  /// fewest that read back; also an integer (some servers write 1e20 as `100000000000000000000`). What is left is kept as it is
  /// written.
  ///
  /// - Throws: ``SyncModelError`` with the offset of the byte: not JSON, not UTF-8, a name twice in one object, half of
  ///   a surrogate pair, an exponent of more than nine digits, more than ``greatestTextDepth`` deep, text after the value.
  public init(parsing bytes: [UInt8]) throws(SyncModelError) {
    var parser = JSONParser(bytes)
    self = try parser.document()
  }

  /// Reads one JSON value that fills the text; as ``init(parsing:)-([UInt8])``.
  public init(parsing text: String) throws(SyncModelError) {
    try self.init(parsing: Array(text.utf8))
  }
}
