/// The style of text on a terminal with colours.
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

extension Style {
  /// The number of scalars of a sequence that ``Terminal/styled(_:_:)`` writes; 0 for every other sequence.
  static func length(of scalars: String.UnicodeScalarView.SubSequence) -> Int {
    let sequence = scalars.prefix(12)
    guard sequence.dropFirst().first == "[", let end = sequence.firstIndex(of: "m") else { return 0 }
    let codes = String(sequence[..<end].dropFirst(2)).split(separator: ";", omittingEmptySubsequences: false)
    guard codes.allSatisfy({ $0 == "0" || Int($0).flatMap(Style.init) != nil }) else { return 0 }
    return sequence.distance(from: sequence.startIndex, to: end) + 1
  }
}

extension Terminal {
  /// Returns the text in the styles, or unchanged without colours. Escape data before styling it.
  public func styled(_ text: String, _ styles: Style...) -> String {
    guard hasColours, !styles.isEmpty, !text.isEmpty else { return text }
    return "\u{1B}[" + styles.map { String($0.rawValue) }.joined(separator: ";") + "m" + text + "\u{1B}[0m"
  }
}
