import Platform

/// A text file with options of a command: `name = value`, one in each line.
///
/// Names are the long names of options, without dashes. A flag is `true` or `false`. A line whose first character is `#`,
/// and the part of a line from a `#` after a blank, is a comment. A value in double quotes may begin or end with blanks
/// and contain `#`; `\"` and `\\` stand for a quote and a backslash in it. A relative path is relative to the folder of the
/// file.
///
/// Parsing is a pure function of the bytes.
public struct ConfigurationFile: Sendable, Equatable {
  /// A line with a value.
  public struct Setting: Sendable, Equatable {
    /// The long name of the option.
    public let name: String
    /// The value; a path as it is to be opened.
    public let value: String
    /// The number of the line, from 1.
    public let line: Int
  }

  /// The path of the file, for messages.
  public let path: String
  /// The settings in the order of their lines.
  public let settings: [Setting]

  /// The largest file, in bytes.
  public static let mostBytes = 1 << 20

  /// Parses the content of a file.
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - command: the words of the command whose options the file may have.
  /// - Throws: ``UsageError`` for the first mistake, with the file, the line and the remedy.
  public init(_ bytes: [UInt8], path: String, of program: Program, command: [String]) throws(UsageError) {
    self.path = path
    let reader = SettingReader(path: path, program: program, chain: program.chain(command) ?? [])
    guard bytes.count <= Self.mostBytes else {
      throw reader.mistake(.invalidValue, "the file has more than \(Self.mostBytes >> 20) MiB", at: path)
    }
    // The mark that some editors put before UTF-8.
    let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    var settings: [Setting] = []
    var lines: [String: Int] = [:]
    for (index, line) in content.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      let number = index + 1
      guard let (option, value) = try reader.setting(in: line, number) else { continue }
      if let first = lines[option.long], option.isFlag || option.repetition == .once {
        throw reader.mistake(
          .repeatedOption, "\(option.long) is set twice, first in line \(first)", hint: "remove one of the lines",
          option: option, at: "\(path):\(number)")
      }
      lines[option.long] = number
      settings.append(Setting(name: option.long, value: option.path(value, inFile: path), line: number))
    }
    self.settings = settings
  }

  /// Returns the line for a setting, with quotes if the value needs them.
  public static func line(_ name: String, _ value: String) -> String {
    let isPlain =
      !value.isEmpty && !value.unicodeScalars.contains("#") && value.unicodeScalars.first != "\""
      && trimmed(value[...]) == value[...]
    if isPlain { return "\(name) = \(value)" }
    let quoted = value.unicodeScalars.reduce(into: "") { text, scalar in
      if scalar == "\"" || scalar == "\\" { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    return "\(name) = \"\(quoted)\""
  }
}

extension Program {
  /// Returns a configuration file with every option that it may have, each as a comment with its help and its default.
  public func exampleConfiguration(of command: [String]) -> String {
    let introduction = """
      Settings of '\(([name] + command).joined(separator: " "))', as NAME = VALUE. Remove the # before a setting to use \
      it. Relative paths are relative to the folder of this file.
      """
    return settings(of: chain(command) ?? []).reduce(commented(introduction)) { text, option in
      let value = option.isFlag ? "false" : option.defaultValue ?? option.valueName ?? ""
      return text + "\n" + commented(option.describedHelp) + "#\(ConfigurationFile.line(option.long, value))\n"
    }
  }

  private func commented(_ text: String) -> String {
    wrap(text, width: 78).split(separator: "\n").map { "# \($0)\n" }.joined()
  }

  /// Returns the options that a configuration file of a command may have.
  fileprivate func settings(of chain: [CommandDescription]) -> [OptionDescription] {
    (chain.flatMap(\.options) + options).filter(\.isSetting)
  }
}

/// Reads lines of a configuration file.
private struct SettingReader {
  let path: String
  let program: Program
  let chain: [CommandDescription]
  let options: [String: OptionDescription]

  init(path: String, program: Program, chain: [CommandDescription]) {
    (self.path, self.program, self.chain) = (path, program, chain)
    options = Dictionary(uniqueKeysWithValues: program.settings(of: chain).map { ($0.long, $0) })
  }

  func mistake(
    _ kind: UsageError.Kind, _ message: String, hint: String? = nil, option: OptionDescription? = nil, at place: String
  ) -> UsageError {
    program.usageError(kind, message, hint: hint, option: option, at: place, in: chain)
  }

  /// Returns the option and the value of a line; `nil` for a comment or an empty line.
  func setting(in bytes: ArraySlice<UInt8>, _ number: Int) throws(UsageError) -> (OptionDescription, String)? {
    let place = "\(path):\(number)"
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw mistake(.invalidValue, "the line is not UTF-8", hint: "save the file in UTF-8", at: place)
    }
    let line = trimmed(bytes.last == 0x0D ? Substring(text.unicodeScalars.dropLast()) : text[...])
    guard !line.isEmpty, line.unicodeScalars.first != "#" else { return nil }
    guard line.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control || $0 == "\t" }) else {
      throw mistake(.invalidValue, "the line has a control character", hint: "remove it", at: place)
    }
    guard let equals = line.unicodeScalars.firstIndex(of: "="), equals > line.startIndex else {
      let name = trimmed(Substring(line.unicodeScalars.prefix { !isBlank($0) && $0 != "#" }))
      if let option = options[String(name)] { throw missingValue(option, place) }
      throw mistake(
        .missingValue, "'\(shown(name))' is not a setting", hint: "write a line as NAME = VALUE", at: place)
    }
    let option = try option(String(trimmed(line[..<equals])), place)
    let value = try value(trimmed(Substring(line.unicodeScalars[equals...].dropFirst())), of: option, place)
    if option.isFlag, value != "true", value != "false" {
      throw mistake(
        .unexpectedValue, "\(option.long) is true or false, not '\(escaped(value))'", option: option, at: place)
    }
    if let refusal = option.refusal(of: value, spelled: option.long) {
      throw mistake(.invalidValue, refusal.message, hint: refusal.hint, option: option, at: place)
    }
    return (option, value)
  }

  private func option(_ name: String, _ place: String) throws(UsageError) -> OptionDescription {
    if let option = options[name] { return option }
    let isOption = (chain.flatMap(\.options) + program.globalOptions).contains { $0.long == name }
    throw mistake(
      .unknownOption,
      isOption ? "\(name) is an option of the command line only" : "unknown setting '\(shown(name[...]))'",
      hint: isOption ? "remove the line" : suggestion(name, program.settings(of: chain).map(\.long)), at: place)
  }

  private func missingValue(_ option: OptionDescription, _ place: String) -> UsageError {
    mistake(.missingValue, "\(option.long) has no value", option: option, at: place)
  }

  private func value(
    _ text: Substring, of option: OptionDescription, _ place: String
  ) throws(UsageError) -> String {
    let value: String
    if text.unicodeScalars.first == "\"" {
      value = try quoted(text.unicodeScalars.dropFirst(), of: option, place)
    } else {
      let comment = zip(text.unicodeScalars.indices, text.unicodeScalars).first { index, scalar in
        scalar == "#"
          && (index == text.startIndex || isBlank(text.unicodeScalars[text.unicodeScalars.index(before: index)]))
      }
      let plain = trimmed(text[..<(comment?.0 ?? text.endIndex)])
      // Cutting the value at the character would name another file.
      guard !plain.unicodeScalars.contains("#") else {
        throw mistake(
          .invalidValue, "the value of \(option.long) has a #", hint: "write a value with # in double quotes",
          option: option, at: place)
      }
      value = String(plain)
    }
    guard !value.isEmpty else { throw missingValue(option, place) }
    return value
  }

  /// Returns the text up to the closing quote, behind which only a comment may be.
  private func quoted(
    _ text: Substring.UnicodeScalarView, of option: OptionDescription, _ place: String
  ) throws(UsageError) -> String {
    var value = ""
    var rest = text
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\"":
        let after = trimmed(Substring(rest))
        guard after.isEmpty || after.unicodeScalars.first == "#" else {
          throw mistake(
            .invalidValue, "the value of \(option.long) goes on behind its closing quote",
            hint: #"write a quote inside the value as \""#, option: option, at: place)
        }
        return value
      case "\\":
        guard let next = rest.popFirst(), next == "\"" || next == "\\" else {
          throw mistake(
            .invalidValue, "the value of \(option.long) has a single backslash",
            hint: #"write a backslash in double quotes as \\"#, option: option, at: place)
        }
        value.unicodeScalars.append(next)
      default: value.unicodeScalars.append(scalar)
      }
    }
    throw mistake(
      .invalidValue, "the value of \(option.long) has no closing quote", hint: "end the value with a quote",
      option: option, at: place)
  }
}

extension OptionDescription {
  /// Returns the value of a configuration file: a relative path is relative to the folder of the file.
  fileprivate func path(_ value: String, inFile file: String) -> String {
    // By bytes: a mark after the slash would be one character with it.
    let isAbsolute = value.utf8.first == UInt8(ascii: "/")
    guard completion == .file || completion == .folder, !names.contains(value), !isAbsolute else { return value }
    let folder = Files.parent(of: file)
    return folder == "." ? value : folder == "/" ? "/\(value)" : "\(folder)/\(value)"
  }
}

/// Returns the beginning of a name for a message. A line may be as long as the file.
private func shown(_ name: Substring) -> String { escaped(String(name.prefix(60))) + (name.count > 60 ? "..." : "") }

private func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }

/// Returns the text without blanks at its ends. By scalars: a mark after a blank would be one character with it.
private func trimmed(_ text: Substring) -> Substring {
  var scalars = text.unicodeScalars
  while let first = scalars.first, isBlank(first) { scalars.removeFirst() }
  while let last = scalars.last, isBlank(last) { scalars.removeLast() }
  return Substring(scalars)
}
