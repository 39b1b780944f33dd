import CPlatform
import CommandLineKit
import Platform
import VaultKeys
import VaultStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

enum UnlockCommand: ProgramCommand {
  static let description = CommandDescription(
    "unlock", group: "Keys", summary: "keep the vault unlocked for a while",
    discussion: """
      Starts a process, the key agent, that holds the key of the database in locked memory. Other commands of the same \
      user on this machine then open the vault without a secret, except 'backup', 'doctor' and the commands of 'key' \
      other than 'key list', which need more than that key. The agent ends after the time, with 'fieldvault lock', \
      and when the keyring changes, such as after 'key rotate'. A second 'unlock' replaces the time of the first.
      """,
    options: [
      .value(
        "for", "TIME", "minutes, or a number with a unit: 90s, 30m, 8h; at most 12h", default: UnlockTime.standard)
    ],
    examples: [
      Example("fieldvault unlock", "keep the vault unlocked for 15 minutes"),
      Example("fieldvault unlock --for 8h", "keep it unlocked for a working day"),
    ],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let path = FileSystem.absolute(try context.vaultPath())
    let text = context.arguments.value("for") ?? UnlockTime.standard
    guard let seconds = UnlockTime.seconds(text) else {
      throw context.arguments.mistake(
        "--for is a time from 1s to 12h", about: "for", hint: "give minutes, or a number with a unit: 90s, 30m, 8h")
    }
    let vault = try context.openVault(outdated: .leave, needsRootKey: true)
    guard let place = AgentPlace(vault: path) else {
      throw StartError(
        message: "there is no folder for the socket of the key agent",
        hint: "set XDG_RUNTIME_DIR or HOME to the absolute path of a folder")
    }
    let end = Clock.system.now() + Int64(seconds) * 1000
    try start(AgentSession(key: vault.sessionKey, end: end), path, place)
    let time = TimestampText.text(end)
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("vault", path)
        json.member("unlockedUntil", time)
        json.endObject()
      }
    }
    try context.tell("Unlocked \(path) until \(RelativeTime.short(time)) UTC.")
    context.hint(
      "Until then, all programs that run as you on this machine can read the vault. To lock it: fieldvault lock")
  }

  /// Replaces the agent of a vault, and waits until the new one responds.
  private static func start(_ session: AgentSession, _ vault: String, _ place: AgentPlace) throws {
    try place.prepareFolder()
    let client = AgentClient(place)
    _ = try client.lock()
    let listener = Descriptor(owning: try place.listen())
    do {
      guard let identity = AgentPlace.identity(of: place.socket) else { throw FileError.last("find", place.socket) }
      let input = try pipe(session)
      // This process must not keep a key in the pipe if the agent ends early.
      defer { close(input) }
      try spawn([KeyAgentCommand.name, "--vault", vault, place.socket, String(identity)], input, listener.number)
      guard try client.end() == session.end else {
        throw StartError(message: "the key agent did not start", hint: "try again; the vault is locked")
      }
    } catch {
      // The first error is the one that helps the user.
      _ = try? client.lock()
      throw error
    }
  }

  /// Returns the reading end of a pipe that holds the data of the agent.
  private static func pipe(_ session: AgentSession) throws -> Int32 {
    let bytes = try session.serialized()
    let ends = try ChildStart.pipe()
    defer { close(ends.writing) }
    do {
      // A pipe holds far more than these bytes.
      try bytes.withUnsafeBytes { buffer throws(Descriptor.Failure) in
        try Descriptor(borrowing: ends.writing).write(buffer)
      }
    } catch {
      close(ends.reading)
      throw StartError("write to a pipe", error.number)
    }
    return ends.reading
  }

  /// Starts this program again, detached from the terminal.
  private static func spawn(_ arguments: [String], _ input: Int32, _ listener: Int32) throws {
    guard let program = cplatform_program_path() else { throw StartError("find this program", errno) }
    defer { free(program) }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Standard input first: its pipe may have the number that the listener is to get.
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, listener, KeyAgentCommand.listener)
    // A script that reads the output of 'unlock' would otherwise wait for the end of the agent.
    for output in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
    }
    #if canImport(Darwin)
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_CLOEXEC_DEFAULT))
    #endif
    guard cplatform_spawn_close_from(&actions, KeyAgentCommand.listener + 1) == 0 else {
      throw StartError(message: "the descriptors of the key agent cannot be closed")
    }
    let words = ([String(cString: program)] + arguments).map { strdup($0) } + [nil]
    let variables = ChildVariables.inherited(without: ChildVariables.own).map { strdup($0) } + [nil]
    defer { for pointer in words + variables { free(pointer) } }
    var child: pid_t = 0
    let result = posix_spawn(&child, program, &actions, &attributes, words, variables)
    guard result == 0 else {
      throw StartError("start \(String(cString: program))", result)
    }
  }
}

enum LockCommand: ProgramCommand {
  static let description = CommandDescription(
    "lock", group: "Keys", summary: "end what 'unlock' started",
    discussion: "Ends the key agent of the vault, which wipes its key. Commands that have the vault open continue.",
    examples: [Example("fieldvault lock", "ask for the secret again from now on")],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let path = try context.vaultPath()
    _ = try Vault.existing(path)
    let wasUnlocked = try AgentPlace(vault: path).map { try AgentClient($0).lock() } ?? false
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("vault", path)
        json.member("wasUnlocked", wasUnlocked)
        json.endObject()
      }
    }
    try context.tell(wasUnlocked ? "Locked \(path)." : "\(path) was locked already.")
  }
}
