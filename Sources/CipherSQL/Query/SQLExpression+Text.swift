/// Text.
extension SQLExpression where Value.Bare == String {
  /// Matches a pattern in which `%` means any text and `_` any character. ASCII letters match in either case.
  /// - Parameter escape: a character that removes the meaning of a following `%` or `_`.
  public func like(_ pattern: String, escape: Character? = nil) -> SQLTerm<Bool> {
    SQLTerm(SQLNode(.like(node, .value(pattern), escape: escape.map { .value(String($0)) })))
  }

  /// Contains a text, to the letter but for the case of ASCII letters.
  public func contains(_ text: String) -> SQLTerm<Bool> { like("%" + likeEscaped(text) + "%", escape: "\\") }

  /// Begins with a text, to the letter but for the case of ASCII letters.
  public func hasPrefix(_ text: String) -> SQLTerm<Bool> { like(likeEscaped(text) + "%", escape: "\\") }

  /// Ends with a text, to the letter but for the case of ASCII letters.
  public func hasSuffix(_ text: String) -> SQLTerm<Bool> { like("%" + likeEscaped(text), escape: "\\") }

  /// The text with its ASCII letters in lower case.
  public var lowercased: SQLTerm<Value> { SQLTerm(.call("lower", node)) }

  /// The text with its ASCII letters in upper case.
  public var uppercased: SQLTerm<Value> { SQLTerm(.call("upper", node)) }

  /// The number of characters (code points) of the text, up to a NUL.
  public var length: SQLTerm<Int?> { SQLTerm(.call("length", node)) }
}

/// Returns a text for a LIKE pattern whose escape character is the backslash.
private func likeEscaped(_ text: String) -> String {
  var result = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    if scalar == "%" || scalar == "_" || scalar == "\\" { result.append("\\") }
    result.append(scalar)
  }
  return String(result)
}
