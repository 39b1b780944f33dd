import CommandLineKit
import VaultStore

enum TraceCommand {
  static func run(_ context: CommandContext) throws {
    let rounds = try context.arguments.integer("limit", in: 1...) ?? 200
    try context.output.line(try context.openVault().trace(rounds: rounds))
    context.hint("No value of a record, no name and no address is in it; look before you send it to somebody.")
  }
}
