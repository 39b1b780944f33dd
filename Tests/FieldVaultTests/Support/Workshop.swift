import Foundation
import TestSupport

/// A folder of one test: a vault, its passphrase, the files that the test makes, and a home. It goes with the object.
final class Workshop {
  /// The UUID of the template's project.
  static let project = "01a1fd64-745c-7000-a9bf-bdc8a45002eb"
  /// The UUID of the template's room.
  static let room = "01a1fd64-7573-7000-8e94-46657598a452"
  static let nobody = "00000000-0000-0000-0000-000000000000"

  /// The secret of a test's vault. A key file is fast; a passphrase is slow by design.
  enum Secret: String {
    case keyFile = "FIELDVAULT_KEY_FILE"
    case passphrase = "FIELDVAULT_PASSPHRASE_FILE"

    /// Its file.
    var file: String { self == .keyFile ? "key" : "passphrase" }
  }

  private let temporary: TemporaryFolder
  var folder: URL { URL(fileURLWithPath: temporary.path) }
  private let program: String
  private let secret: Secret

  /// Creates the folder, with a vault that has one project and one of its rooms, or without a vault.
  init(_ secret: Secret = .keyFile, vault: Bool = true) throws {
    self.secret = secret
    program = try builtProgram("fieldvault")
    temporary = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: temporary.file("home"), withIntermediateDirectories: false)
    try write("correct horse battery staple\n", to: "passphrase")
    try write((0..<64).map { $0 &* 37 }, to: "key")
    if vault {
      try FileManager.default.copyItem(
        atPath: try Template.vault(secret), toPath: path("v.vault"))
    }
  }

  /// The path of a file of the test.
  func path(_ name: String) -> String { temporary.file(name) }

  /// Writes a file of the test.
  @discardableResult
  func write(_ text: String, to name: String) throws -> String {
    try write(Array(text.utf8), to: name)
  }

  /// Writes a file of the test.
  @discardableResult
  func write(_ bytes: [UInt8], to name: String) throws -> String {
    try temporary.write(bytes, to: name)
  }

  /// The environment of the program.
  func environment(vault: String = "v.vault", _ more: [String: String] = [:]) -> [String: String] {
    var variables = [
      "FIELDVAULT_VAULT": path(vault), secret.rawValue: path(secret.file), "HOME": path("home"),
    ]
    for name in ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE", "ASAN_OPTIONS", "TSAN_OPTIONS"] {
      variables[name] = ProcessInfo.processInfo.environment[name]
    }
    return variables.merging(more) { $1 }
  }

  /// Runs the program on the vault. `@NAME` as an argument is the path of the test's file NAME.
  func run(
    _ arguments: [String], vault: String = "v.vault", input: String? = nil, environment more: [String: String] = [:],
    watchingMemory: Bool = false
  ) throws -> Ran {
    try FieldVaultTests.run(
      program, arguments.map { $0.hasPrefix("@") ? path(String($0.dropFirst())) : $0 },
      environment: environment(vault: vault, more), input: input, watchingMemory: watchingMemory)
  }

  /// Runs the program on the vault.
  func run(_ arguments: String..., vault: String = "v.vault", input: String? = nil) throws -> Ran {
    try run(arguments, vault: vault, input: input)
  }

  /// Runs the program where it has to succeed.
  @discardableResult
  func done(_ arguments: String..., vault: String = "v.vault", input: String? = nil) throws -> Ran {
    let ran = try run(arguments, vault: vault, input: input)
    guard ran.status == 0 else { throw Unexpected("\(arguments) ended with \(ran.status): \(ran.errors)") }
    return ran
  }

  /// Starts the program and does not wait for it.
  func start(_ arguments: [String], input: Int32?) throws -> Running {
    try Running(program, arguments, environment: environment(), input: input)
  }

  /// Runs the program at a terminal whose user has typed something already.
  func run(_ arguments: [String], typing text: String) throws -> (ran: Ran, screen: String) {
    let terminal = try Screen()
    terminal.type(text)
    let ran = try Running(program, arguments, environment: environment(), terminal: terminal.slave).wait()
    return (ran, terminal.content())
  }

  /// Runs the program with its output and errors on a terminal of 80 columns, and returns the lines of the screen.
  func screen(_ arguments: [String], environment more: [String: String] = [:]) throws -> (
    status: Int32, lines: [String]
  ) {
    let terminal = try Screen()
    let ran = try Running(
      program, arguments, environment: environment(more), terminal: terminal.slave, screen: terminal.slave
    ).wait()
    let text = terminal.content().replacing("\r\n", with: "\n")
    return (ran.status, text.split(separator: "\n").map(String.init))
  }

  /// How many rows a table has, deleted ones too.
  func count(_ table: String, vault: String = "v.vault") throws -> Int {
    let rows = try done("query", "SELECT count(*) AS n FROM \(table)", "--json", vault: vault).rows()
    guard let count = rows.first?["n"] as? Int else { throw Unexpected("no count of \(table)") }
    return count
  }

  /// The bytes of the database; nil where a commit may wait in the log, so that they do not tell.
  func database(vault: String = "v.vault") throws -> Data? {
    let file = path("\(vault)/db/0001/vault.db")
    let log = try? FileManager.default.attributesOfItem(atPath: file + "-wal")[.size] as? Int
    guard log ?? 0 == 0 else { return nil }
    return try Data(contentsOf: URL(fileURLWithPath: file))
  }

  /// The content that the tests write to: every column of every record.
  func content(vault: String = "v.vault") throws -> [String] {
    try ["Project", "Room", "AtmosphericLog"].map {
      try done("export", $0, "--format", "ndjson", vault: vault).output
    }
  }
}

/// Vaults that are made once and copied.
enum Template {
  private static let withKeyFile = Result { try make(.keyFile) }
  private static let withPassphrase = Result { try make(.passphrase) }

  /// The path of the vault that a test copies.
  static func vault(_ secret: Workshop.Secret) throws -> String {
    try (secret == .keyFile ? withKeyFile : withPassphrase).get()
  }

  private static func make(_ secret: Workshop.Secret) throws -> String {
    let shop = try Workshop(secret, vault: false)
    try shop.done("init", "--schema", "restoration", "--quiet")
    try shop.done("put", "Project", "title=14 Elm Street", "--uuid", Workshop.project, "--quiet")
    try shop.done(
      "put", "Room", "title=Attic", "projectId=\(Workshop.project)", "squareFootage=120.5", "--uuid", Workshop.room,
      "--quiet")
    let path = folder.appendingPathComponent(secret.file).path
    try FileManager.default.copyItem(atPath: shop.path("v.vault"), toPath: path)
    return path
  }

  /// Where they stand until the tests end.
  private static let folder: URL = {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "fieldvault-templates-\(UUID().uuidString)")
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    atexit { try? FileManager.default.removeItem(at: Template.folder) }
    return folder
  }()
}
