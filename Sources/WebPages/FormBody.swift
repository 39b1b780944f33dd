import Platform

/// The fields of a form in the body of a request: `application/x-www-form-urlencoded`.
package enum FormBody {
  /// Reads the fields of a body. A form sends each name once, so a repeated name is refused.
  /// - Returns: `nil` for a body that is no form.
  package static func fields(of body: [UInt8]) -> [String: String]? {
    var fields: [String: String] = [:]
    if body.isEmpty { return fields }
    for pair in body.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let name = decoded(parts[0]), let value = decoded(parts[1]), fields[name] == nil else {
        return nil
      }
      fields[name] = value
    }
    return fields
  }

  /// Decodes percent escapes and `+` for a space. A browser sends a line break as CR LF, of which only LF is kept.
  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
    var result: [UInt8] = []
    var rest = bytes
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): result.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
        let digits = (HexText.value(high), HexText.value(low))
        guard digits.0 < 16, digits.1 < 16 else { return nil }
        result.append(digits.0 << 4 | digits.1)
      default: result.append(byte)
      }
    }
    guard let text = String(validating: result, as: UTF8.self) else { return nil }
    return text.replacing("\r\n", with: "\n")
  }
}
