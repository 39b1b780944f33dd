import CommandLineKit
import VaultStore

enum TraceCommand: ProgramCommand {
  static let description = CommandDescription(
    "trace", group: "Sync", summary: "what sync did and what waits, as JSON for somebody who is to help",
    discussion: """
      Kinds of record, counts, states and times. No value of a record is in it, no name, no address and no message of a \
      server; records are numbered.
      """,
    options: [.value("limit", "N", short: "n", "at most this many rounds", default: "200")],
    examples: [Example("fieldvault trace > trace.json", "to be sent along with a question")],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let rounds = try context.arguments.integer("limit", in: 1...) ?? 200
    try context.output.line(try context.openVault().trace(rounds: rounds))
    context.hint("No value of a record, no name and no address is in it; look before you send it to somebody.")
  }
}
