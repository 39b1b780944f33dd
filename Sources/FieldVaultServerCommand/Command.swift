import CommandLineKit
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The command line of the server: reads the arguments, runs the command, and exits with the code of its result.
@main
enum Command {
  static func main() async {
    Signals.ignoreBrokenPipe()
    let words = Array(CommandLine.arguments.dropFirst())
    let context: CommandContext
    do {
      let arguments = try ArgumentParser(ServerProgram.program).parse(words)
      context = CommandContext(arguments)
    } catch {
      let terminal = Terminal(descriptor: STDERR_FILENO, noColor: words.contains("--no-color"))
      let messages = Output(descriptor: STDERR_FILENO)
      // With a closed standard error only the exit code reports the error.
      if ErrorObject.isRequested(by: words) {
        try? messages.write(ErrorReport(error).json())
      } else {
        try? messages.write(error.text(for: terminal))
      }
      try? messages.flush()
      exit(error.exitCode.rawValue)
    }
    // A core dump of this process would hold keys and records.
    if !forbidCoreDumps() { context.note("cannot disable core dumps for this process") }
    do {
      try await run(context.arguments.request == .run ? context.completed() : context)
      try context.output.flush()
      exit(ExitCode.done.rawValue)
    } catch {
      context.report(error)
    }
  }

  private static func run(_ context: CommandContext) async throws {
    let program = ServerProgram.program
    switch context.arguments.request {
    case .help:
      return try context.output.write(program.help(for: context.arguments, terminal: context.output.terminal))
    case .version: return try VersionCommand.run(context)
    case .run: break
    }
    switch context.arguments.command {
    case "serve": try await ServeCommand.run(context)
    case "config example":
      try context.output.write(program.exampleConfiguration(of: ServerProgram.configuredCommand).utf8)
    case "user add": try UserAddCommand.run(context)
    case "user link": try UserLinkCommand.run(context)
    case "user unlink": try UserLinkCommand.unlink(context)
    case "user list": try UserListCommand.run(context)
    case "user revoke": try UserRevokeCommand.run(context)
    case "token add": try TokenAddCommand.run(context)
    case "token list": try TokenListCommand.run(context)
    case "token revoke": try TokenRevokeCommand.run(context)
    case "device list": try DeviceListCommand.run(context)
    case "device revoke": try DeviceRevokeCommand.run(context)
    case "backup": try BackupCommand.run(context)
    case "restore": try await RestoreCommand.run(context)
    case "verify":
      guard try VerifyCommand.run(context) else {
        try context.output.flush()
        exit(ExitCode.damaged.rawValue)
      }
    case "migrate":
      guard try await MigrateCommand.run(context) else {
        try context.output.flush()
        exit(ExitCode.refused.rawValue)
      }
    case "compact":
      guard try CompactCommand.run(context) else {
        try context.output.flush()
        exit(ExitCode.damaged.rawValue)
      }
    case "epoch new": try await EpochNewCommand.run(context)
    case "account list": try AccountListCommand.run(context)
    case "account membership on": try AccountMembershipCommand.run(context, isLimited: true)
    case "account membership off": try AccountMembershipCommand.run(context, isLimited: false)
    case "account export": try await AccountExportCommand.run(context)
    case "account delete": try await AccountDeleteCommand.run(context)
    case "audit list": try AuditListCommand.run(context)
    case "inspect": try InspectCommand.run(context)
    case "key rotate": try KeyRotateCommand.run(context)
    case "seal-key new": try SealKeyNewCommand.run(context)
    case "seal-key rotate": try await SealKeyRotateCommand.run(context)
    case "completions":
      let shell = try context.arguments.value("SHELL", as: Shell.self) ?? .bash
      try context.output.write(program.completions(for: shell).utf8)
    case "manual": try context.output.write(program.manual().utf8)
    case "version": try VersionCommand.run(context)
    default: throw context.arguments.mistake("a subcommand is required; see the help of this command")
    }
  }
}
