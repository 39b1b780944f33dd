extension SyncValue {
  /// How deep arrays and objects may be nested in a value of a column: `[[1]]` is 2 deep.
  public static let greatestDepth = 64
  /// How deep they may be nested in a text that is read: a message has values of columns inside.
  public static let greatestTextDepth = greatestDepth + 8

  /// Parses one JSON value (RFC 8259) that fills the text.
  ///
  /// A number without point and exponent that fits 64 bits is an integer. Another number is a REAL if it has the
  /// shortest digits of a double that read back equal, also without a point (some servers write 1e20 as
  /// `100000000000000000000`). The rest is kept unchanged.
  ///
  /// - Throws: ``SyncModelError`` with the offset of the byte: not JSON, not UTF-8, a duplicate name in an object,
  ///   half of a surrogate pair, an exponent of more than nine digits, nesting deeper than ``greatestTextDepth``,
  ///   text after the value.
  public init(parsing bytes: [UInt8]) throws(SyncModelError) {
    var parser = JSONParser(bytes)
    self = try parser.document()
  }

  /// Reads one JSON value that fills the text; as ``init(parsing:)-([UInt8])``.
  public init(parsing text: String) throws(SyncModelError) {
    try self.init(parsing: Array(text.utf8))
  }
}
