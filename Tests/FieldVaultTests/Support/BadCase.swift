import Testing

/// A refused command line, its exit code, and the place that the message names.
struct BadCase: Sendable, CustomTestStringConvertible {
  let arguments: [String]
  /// The files that the case needs; an argument names one as `@NAME`.
  let files: [String: [UInt8]]
  let input: String?
  let environment: [String: String]
  let status: Int32
  /// The expected text on standard error.
  let says: [String]

  init(
    _ arguments: [String], files: [String: [UInt8]] = [:], input: String? = nil, environment: [String: String] = [:],
    _ status: Int32, _ says: String...
  ) {
    self.init(arguments, files, input, environment, status, says)
  }

  private init(
    _ arguments: [String], _ files: [String: [UInt8]], _ input: String?, _ environment: [String: String],
    _ status: Int32, _ says: [String]
  ) {
    self.arguments = arguments
    self.files = files
    self.input = input
    self.environment = environment
    self.status = status
    self.says = says
  }

  /// A CSV file of rooms that is imported.
  static func rooms(_ text: String, with arguments: [String] = [], _ status: Int32, _ says: String...) -> BadCase {
    file("rooms.csv", Array(text.utf8), arguments, status, says)
  }

  /// A CSV file of rooms that is imported.
  static func rooms(bytes: [UInt8], _ status: Int32, _ says: String...) -> BadCase {
    file("rooms.csv", bytes, [], status, says)
  }

  /// A file of another kind that is imported.
  static func file(_ name: String, _ text: String, _ status: Int32, _ says: String...) -> BadCase {
    file(name, Array(text.utf8), [], status, says)
  }

  private static func file(
    _ name: String, _ bytes: [UInt8], _ arguments: [String], _ status: Int32, _ says: [String]
  ) -> BadCase {
    BadCase(
      ["import", "Room", "@\(name)", "--set", "projectId=\(Workshop.project)"] + arguments, [name: bytes], nil, [:],
      status, says)
  }

  var testDescription: String { arguments.joined(separator: " ") + (says.first.map { ": " + $0 } ?? "") }

  /// Runs the command line, and checks its message, that it prints nothing else, and that the vault is unchanged.
  func check(_ secret: Workshop.Secret = .keyFile) throws {
    let shop = try Workshop(secret)
    for (name, bytes) in files { try shop.write(bytes, to: name) }
    let before = try #require(try shop.database())
    let ran = try shop.run(arguments, input: input, environment: environment)
    #expect(ran.status == status, "\(ran.errors)")
    #expect(ran.output.isEmpty)
    for text in says { #expect(ran.errors.contains(text), "'\(text)' is not in: \(ran.errors)") }
    #expect(!ran.errors.contains("Fatal error"))
    if let after = try shop.database() {
      #expect(after == before)
    } else {
      #expect(try shop.content() == Workshop(secret).content())
    }
  }
}
