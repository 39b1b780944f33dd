/// The source of a part of an HTML page.
///
/// Literals are markup. Interpolated text is escaped, so that a value of a record cannot become markup or end an attribute in
/// double quotes. Only other ``HTML`` values are interpolated unchanged.
package struct HTML: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// The markup.
  package private(set) var source: String

  /// Markup that the program itself contains.
  package init(stringLiteral markup: String) { source = markup }
  package init(stringInterpolation parts: Interpolation) { source = parts.source }

  /// The parts of a page one behind the other.
  package init(_ parts: some Sequence<HTML>) { source = parts.map(\.source).joined() }

  /// Text of any origin.
  package init(text: String) { source = Self.escaped(text) }

  package var isEmpty: Bool { source.isEmpty }

  package static func + (left: HTML, right: HTML) -> HTML { HTML([left, right]) }
  package static func += (left: inout HTML, right: HTML) { left.source += right.source }

  /// The parts of an interpolated literal.
  package struct Interpolation: StringInterpolationProtocol {
    fileprivate var source = ""

    package init(literalCapacity: Int, interpolationCount: Int) {
      source.reserveCapacity(literalCapacity + 32 * interpolationCount)
    }

    package mutating func appendLiteral(_ markup: String) { source += markup }
    package mutating func appendInterpolation(_ part: HTML) { source += part.source }
    package mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { source += part.source } }
    package mutating func appendInterpolation(_ text: String) { source += HTML.escaped(text) }
    package mutating func appendInterpolation(_ number: some BinaryInteger) { source += String(number) }
    package mutating func appendInterpolation(_ link: Link) { source += HTML.escaped(link.text) }
  }

  /// Returns text with the characters replaced that have a meaning in HTML. U+0000 cannot be written in HTML.
  private static func escaped(_ text: String) -> String {
    var result = ""
    result.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      // A parser replaces a written carriage return by a line feed.
      case "\r": result += "&#13;"
      case "\0": result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Text of a user: isolated, so that its writing direction does not affect its surroundings, and with invisible characters shown
  /// by their code points.
  /// - Parameter limit: the greatest number of characters; an ellipsis stands for the rest.
  package static func value(_ text: String, limit: Int = .max) -> HTML {
    var shown: HTML = ""
    var run = ""
    let end = text.index(text.startIndex, offsetBy: limit, limitedBy: text.endIndex) ?? text.endIndex
    for scalar in text[..<end].unicodeScalars {
      guard isInvisible(scalar) else {
        run.unicodeScalars.append(scalar)
        continue
      }
      let hex = String(scalar.value, radix: 16, uppercase: true)
      let name = "U+" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex
      shown += "\(run)<span class=\"invisible\">\(name)</span>"
      run = ""
    }
    return "<bdi>\(shown)\(run)\(end < text.endIndex ? "…" : "")</bdi>"
  }

  /// Whether a character has no picture, or changes the order of others.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control: scalar != "\n" && scalar != "\t"
    case .lineSeparator, .paragraphSeparator, .unassigned, .surrogate: true
    // Joiners are part of words in many scripts.
    case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
    default: false
    }
  }
}
