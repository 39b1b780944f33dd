import CommandLineKit
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The command line: parses the arguments, runs the command, and ends with its exit code.
@main
enum Command {
  static func main() {
    Signals.ignoreBrokenPipe()
    let words = Array(CommandLine.arguments.dropFirst())
    let context: CommandContext
    do {
      let arguments = try ArgumentParser(FieldVaultProgram.program).parse(words)
      context = CommandContext(arguments)
    } catch {
      let terminal = Terminal(descriptor: STDERR_FILENO, noColor: words.contains("--no-color"))
      finish(error.exitCode, Output(descriptor: STDERR_FILENO), message: error.text(for: terminal))
    }
    // A core dump of this process would hold keys and records.
    if !forbidCoreDumps() { context.hint("core dumps could not be switched off for this process") }
    do {
      try run(context)
      try context.finish()
      context.closeVault()
      exit(context.exitCode.rawValue)
    } catch {
      context.report(error)
    }
  }

  private static func finish(_ code: ExitCode, _ output: Output, message: String) -> Never {
    // Where standard error is closed, the exit code still tells.
    try? output.write(message)
    try? output.flush()
    exit(code.rawValue)
  }

  private static func run(_ context: CommandContext) throws {
    let program = FieldVaultProgram.program
    switch context.arguments.request {
    case .help:
      return try context.output.write(program.help(for: context.arguments, terminal: context.output.terminal))
    case .version: return try VersionCommand.run(context)
    case .run: break
    }
    switch context.arguments.command {
    case "init": try InitCommand.run(context)
    case "put": try PutCommand.run(context)
    case "get": try GetCommand.run(context)
    case "list": try ListCommand.run(context)
    case "delete": try DeleteCommand.run(context)
    case "undelete": try UndeleteCommand.run(context)
    case "purge": try PurgeCommand.run(context)
    case "import": try ImportCommand.run(context)
    case "export": try ExportCommand.run(context)
    case "query": try QueryCommand.run(context)
    case "search": try SearchCommand.run(context)
    case "shell": try ShellCommand.run(context)
    case "migrate status": try MigrateStatusCommand.run(context)
    case "migrate apply": try MigrateApplyCommand.run(context)
    case "migrate verify": try MigrateVerifyCommand.run(context)
    case "key list": try KeyListCommand.run(context)
    case "key add": try KeyAddCommand.run(context)
    case "key remove": try KeyRemoveCommand.run(context)
    case "key passphrase": try KeyPassphraseCommand.run(context)
    case "key rotate": try KeyRotateCommand.run(context)
    case "key export": try KeyExportCommand.run(context)
    case "backup": try BackupCommand.run(context)
    case "restore": try RestoreCommand.run(context)
    case "doctor": try DoctorCommand.run(context)
    case "sync": try SyncCommand.run(context)
    case "status": try StatusCommand.run(context)
    case "why": try WhyCommand.run(context)
    case "history": try HistoryCommand.run(context)
    case "trace": try TraceCommand.run(context)
    case "remote set": try RemoteSetCommand.run(context)
    case "remote show": try RemoteShowCommand.run(context)
    case "remote unset": try RemoteUnsetCommand.run(context)
    case "logout": try LogoutCommand.run(context)
    case "config get": try ConfigGetCommand.run(context)
    case "config set": try ConfigSetCommand.run(context)
    case "outbox list": try OutboxListCommand.run(context)
    case "outbox show": try OutboxShowCommand.run(context)
    case "outbox retry": try OutboxRetryCommand.run(context)
    case "outbox discard": try OutboxDiscardCommand.run(context)
    case "conflicts list": try ConflictListCommand.run(context)
    case "conflicts show": try ConflictShowCommand.run(context)
    case "conflicts resolve": try ConflictResolveCommand.run(context)
    case "attach add": try AttachAddCommand.run(context)
    case "attach list": try AttachListCommand.run(context)
    case "attach export": try AttachExportCommand.run(context)
    case "attach remove": try AttachRemoveCommand.run(context)
    case "attach verify": try AttachVerifyCommand.run(context)
    case "attach retry": try AttachRetryCommand.run(context)
    case "completions": try CompletionsCommand.run(context)
    case "version": try VersionCommand.run(context)
    default: throw context.arguments.mistake("this command does nothing by itself; see its help")
    }
  }
}
