import TestSupport

extension Seeded {
  /// Returns text with characters that are hard to escape, align or split: quotes, controls, marks, wide characters, dashes at the start.
  mutating func text(upTo length: Int = 8) -> String {
    let letters = [
      "a", "b", "Z", "7", " ", "-", "=", ":", ".", "\"", "\\", "'", "/", "\n", "\t", "\u{1B}", "\u{0}", "\u{7F}",
      "\u{9B}", "é", "e\u{301}", "ß", "漢", "👩‍🚒", "🇩🇪", "\u{2028}", "\u{2029}", "\u{202E}", "\u{61C}", "\u{301}",
      "\u{FFFD}",
    ]
    return (0..<Int.random(in: 0...length, using: &self)).map { _ in pick(letters) }.joined()
  }
}
