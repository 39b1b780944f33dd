/// How text is set off on a terminal that shows colours.
public enum Style: Int, Sendable {
  /// Stronger.
  case bold = 1
  /// Weaker.
  case dim = 2
  /// For errors.
  case red = 31
  /// For success.
  case green = 32
  /// For warnings.
  case yellow = 33
}

extension Terminal {
  /// The text in the styles, or as it is when there are no colours. Escape data before styling it.
  public func styled(_ text: String, _ styles: Style...) -> String {
    guard hasColours, !styles.isEmpty, !text.isEmpty else { return text }
    return "\u{1B}[" + styles.map { String($0.rawValue) }.joined(separator: ";") + "m" + text + "\u{1B}[0m"
  }
}
