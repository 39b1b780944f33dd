import CPlatform
import CipherSQL
import CommandLineKit
import VaultStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Starts the real sqlcipher shell on the vault.
///
/// The shell reads the key from a pipe as its start-up file. The key is never in an argument, the environment, the
/// history or a file. A command is passed through standard input, because it may contain recorded data. The start-up
/// file also loads ``ShellGuard``, so that statements in the shell follow the same rules as elsewhere.
enum ShellCommand: ProgramCommand {
  static let description = CommandDescription(
    "shell", group: "Vault", summary: "open the vault in the sqlcipher shell",
    discussion: """
      Starts sqlcipher with read and write access. The key is passed through a pipe and never appears in an argument, \
      an environment variable, the history or a file. Writes are subject to the same rules and triggers as any other \
      write. Statements that 'query --write' refuses are refused here too, except BEGIN, COMMIT and SAVEPOINT.
      """,
    options: [.value("command", "SQL", short: "c", "run a statement and exit", completion: .none)],
    examples: [
      Example("fieldvault shell", "start the shell"),
      Example("fieldvault shell --command 'SELECT * FROM entities'", "run one statement"),
    ],
    exitCodes: usual)

  // The descriptor under which the shell finds its start-up file.
  private static let startUpDescriptor: Int32 = 3

  static func run(_ context: CommandContext) throws {
    let command = context.arguments.value("command")
    let guardPath = try ShellGuard.path()
    let vault = try context.openVault()
    let path = vault.databasePath
    let names = try vault.database.read { try SchemaObjects.names(in: $0) }.sorted()
    var startUp = Array(
      prologue(context, hasCommand: command != nil, ShellGuard.lines(loading: guardPath, protecting: names)).utf8)
    defer { startUp.withUnsafeMutableBytes { cplatform_wipe($0.baseAddress, $0.count) } }
    startUp.reserveCapacity(startUp.count + 128)
    try vault.withDatabaseKey { key in
      var statement = keyStatement(key)
      defer { statement.withUnsafeMutableBytes { cplatform_wipe($0.baseAddress, $0.count) } }
      startUp.insert(contentsOf: statement, at: 0)
    }
    // The shell has its own connection; the vault stays held, so that its key is not rotated meanwhile.
    vault.database.close()
    let input = try command.map { try pipe(Array(($0 + "\n").utf8)) }
    defer { if let input { close(input) } }
    try context.output.flush()
    let ends = try ChildStart.pipe()
    let child = Result { try spawn(path, ends.reading, input) }
    close(ends.reading)
    // The shell reads while this writes: the names of a large schema do not fit into a pipe.
    if case .success = child { writeAll(startUp, to: ends.writing) }
    close(ends.writing)
    let status = try wait(for: child.get())
    if status != 0 { context.exitCode = .failed }
    withExtendedLifetime(vault) {}
  }

  private static func keyStatement(_ key: UnsafeRawBufferPointer) -> [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    var text = Array(".output /dev/null\nPRAGMA key = \"x'".utf8)
    // No copy of a part stays behind when it grows.
    text.reserveCapacity(128)
    for byte in key {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    text += Array("'\";\n".utf8)
    return text
  }

  private static func prologue(_ context: CommandContext, hasCommand: Bool, _ guarding: [String]) -> String {
    // Without memory for temporary storage the shell would write sorts and indexes to readable files. Without its guard the shell
    // must not go on, and the guard refuses values for pragmas, so that it comes behind them.
    var lines = [".bail on", "PRAGMA temp_store = MEMORY;", "PRAGMA foreign_keys = ON;", "PRAGMA synchronous = FULL;"]
    lines += guarding
    lines += [".output stdout", ".timeout 10000", ".headers on", context.isJSON ? ".mode json" : ".mode column"]
    if !hasCommand {
      lines.append(".bail off")
      if isatty(STDIN_FILENO) == 1, !context.isQuiet {
        lines.append(".print \"To list the views: SELECT name FROM sqlite_schema WHERE type = 'view';\"")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The reading end of a pipe that holds the bytes of a command; its writing end is closed.
  private static func pipe(_ bytes: [UInt8]) throws -> Int32 {
    // A pipe holds 64 KiB on Linux and 16 KiB on Apple's systems. A longer text would wait for its reader.
    guard bytes.count <= 16 << 10 else {
      throw StartError(
        exitCode: .usage, message: "the command is longer than 16 KiB", hint: "pipe it to 'fieldvault shell' instead")
    }
    let ends = try ChildStart.pipe()
    writeAll(bytes, to: ends.writing)
    close(ends.writing)
    return ends.reading
  }

  /// Writes until the reader closes the pipe. A shell that has ended reports the reason itself.
  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
    bytes.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0 && errno != EINTR { return }
        rest = rest.dropFirst(max(count, 0))
      }
    }
  }

  private static func spawn(_ database: String, _ startUp: Int32, _ input: Int32?) throws -> pid_t {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Standard input first: its pipe may have the number that the start-up file is to get. dup2 clears the
    // close-on-exec mark, also when both numbers are the same.
    if let input { posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) }
    posix_spawn_file_actions_adddup2(&actions, startUp, startUpDescriptor)
    let words =
      ["sqlcipher", "-init", "/dev/fd/\(startUpDescriptor)"] + (input == nil ? [] : ["-batch", "-bail"]) + [database]
    let environment = ChildVariables.inherited(without: "SQLITE_HISTORY=") + ["SQLITE_HISTORY=/dev/null"]
    let arguments = words.map { strdup($0) } + [nil]
    let variables = environment.map { strdup($0) } + [nil]
    defer { for pointer in arguments + variables { free(pointer) } }
    var child: pid_t = 0
    let result = posix_spawnp(&child, "sqlcipher", &actions, nil, arguments, variables)
    guard result == 0 else {
      if result == ENOENT {
        throw StartError(
          message: "'sqlcipher' is not on the PATH",
          hint: "install it (Debian: apt install sqlcipher)")
      }
      throw StartError("start sqlcipher", result)
    }
    return child
  }

  private static func wait(for child: pid_t) throws -> Int32 {
    // Control-C belongs to the shell while it runs.
    let previous = signal(SIGINT, SIG_IGN)
    defer { signal(SIGINT, previous) }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {
      guard errno == EINTR else { throw StartError("wait for sqlcipher", errno) }
    }
    return status
  }
}
