extension SyncValue {
  /// How deep arrays and objects may be nested in a text that is read: `[[1]]` is 2 deep.
  public static let greatestDepth = 64

  /// Reads one JSON value (RFC 8259) that fills the text.
  ///
  /// A number without point and exponent is an integer, any other a REAL. An integer beyond 64 bits is read as a REAL
  /// when that loses nothing (some servers write 1e20 as `100000000000000000000`), and refused otherwise.
  ///
  /// - Throws: ``SyncModelError`` with the offset of the byte: not JSON, not UTF-8, a name twice in one object, half of
  ///   a surrogate pair, a number out of range, more than ``greatestDepth`` deep, text after the value.
  public init(parsing bytes: [UInt8]) throws(SyncModelError) {
    var parser = JSONParser(bytes)
    self = try parser.document()
  }

  /// Reads one JSON value that fills the text; as ``init(parsing:)-([UInt8])``.
  public init(parsing text: String) throws(SyncModelError) {
    try self.init(parsing: Array(text.utf8))
  }
}
