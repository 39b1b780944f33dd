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
      finish(error, words: words)
    }
    // A core dump of this process would hold keys and records.
    if !forbidCoreDumps() { context.hint("cannot disable core dumps for this process") }
    do {
      try run(context)
      try context.finish()
      context.closeVault()
      exit(context.exitCode.rawValue)
    } catch {
      context.report(error)
    }
  }

  private static func finish(_ error: UsageError, words: [String]) -> Never {
    let output = Output(descriptor: STDERR_FILENO)
    // With a closed standard error only the exit code reports the error.
    if ErrorObject.isRequested(by: words) {
      try? output.write(ErrorReport(error).json())
    } else {
      try? output.write(error.text(for: Terminal(descriptor: STDERR_FILENO, noColor: words.contains("--no-color"))))
    }
    try? output.flush()
    exit(error.exitCode.rawValue)
  }

  private static func run(_ context: CommandContext) throws {
    let program = FieldVaultProgram.program
    switch context.arguments.request {
    case .help:
      return try context.output.write(program.help(for: context.arguments, terminal: context.output.terminal))
    case .version: return try VersionCommand.run(context)
    case .run: break
    }
    guard let command = FieldVaultProgram.commands[context.arguments.command] else {
      throw context.arguments.mistake("a subcommand is required; see the help of this command")
    }
    try command.run(context)
  }
}
