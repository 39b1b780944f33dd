import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The properties of a destination of text: whether it is a terminal, its width, and whether it shows colours.
public struct Terminal: Sendable, Equatable {
  /// Whether it is a terminal and not a file or a pipe.
  public var isTerminal: Bool
  /// The number of columns: `COLUMNS` if it is set, or those of the terminal; 80 without a terminal or if both are unknown.
  public var width: Int
  /// Whether styles are shown.
  public var hasColours: Bool
  /// Whether the cursor can be moved, so that a line can be replaced.
  public var canRedraw: Bool

  /// A terminal with these properties, for tests.
  public init(isTerminal: Bool, width: Int = 80, hasColours: Bool = false, canRedraw: Bool? = nil) {
    self.isTerminal = isTerminal
    self.width = width
    self.hasColours = hasColours
    self.canRedraw = canRedraw ?? isTerminal
  }

  /// Not a terminal: 80 columns, no colours.
  public static let plain = Terminal(isTerminal: false)

  /// Detects the terminal at standard output (1) or standard error (2).
  ///
  /// Colours are disabled with `--no-color`, with a non-empty `NO_COLOR`, with `TERM=dumb` or without `TERM`, or if the
  /// descriptor is not a terminal.
  public init(descriptor: Int32, noColor: Bool = false, environment: (String) -> String? = Terminal.variable) {
    let kind = environment("TERM") ?? ""
    let isCapable = kind != "dumb" && !kind.isEmpty
    let refusesColours = noColor || environment("NO_COLOR")?.isEmpty == false
    isTerminal = isatty(descriptor) == 1
    let columns = isTerminal ? Int(cplatform_terminal_columns(descriptor)) : 0
    let wanted = isTerminal ? environment("COLUMNS").flatMap { Int($0) } ?? 0 : 0
    width = wanted > 0 ? wanted : columns > 0 ? columns : 80
    hasColours = isTerminal && isCapable && !refusesColours
    canRedraw = isTerminal && isCapable
  }

  /// A variable of the process's environment.
  public static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// The columns for running text: those of the terminal, up to a readable width.
  var textWidth: Int { isTerminal ? min(max(width, 40), 100) : 80 }
}

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
