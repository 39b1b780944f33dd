import CommandLineKit
import HTTPServer
import Inspector
import VaultStore

enum InspectCommand: ProgramCommand {
  static let description = CommandDescription(
    "inspect", group: "Questions", summary: "show the vault as a local web page",
    discussion: """
      Prints a link that opens one browser on this machine, once. The page shows records, the outbox, conflicts, sync \
      rounds and files, and changes nothing unless --write is given. It locks itself after the idle time; Control-C ends it. \
      The browser keeps nothing on disk.
      """,
    options: [
      .flag("write", "allow to send again, discard and resolve"),
      .value("listen", "HOST:PORT", "a loopback address; port 0 lets the system choose", default: "127.0.0.1:0"),
      .value("idle", "MINUTES", "lock after this many minutes without a request", default: "15"),
    ],
    examples: [
      Example("fieldvault inspect", "print the link, and serve the page until stopped"),
      Example("fieldvault inspect --write", "also decide conflicts in the page"),
    ],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    var settings = Inspector.Settings()
    settings.isWritable = context.arguments.flag("write")
    settings.idleSeconds = (try context.arguments.integer("idle", in: 1...1440) ?? 15) * 60
    settings.user = Terminal.variable("USER") ?? settings.user
    settings.schemas = CommandContext.shippedSchemas
    settings.hint = { $0.hint }
    let listen = try context.arguments.required("listen")
    let (locks, locked) = AsyncStream.makeStream(of: Void.self)
    let inspector = try inspector(context, settings) { locked.yield() }
    do {
      try Waiting.run(taking: { (event: Event) in try tell(event, context) }) { tell in
        tell(.ready(try inspector.start(listen)))
        // The stream ends when SIGINT or SIGTERM cancels the task.
        for await _ in locks { tell(.locked) }
        await inspector.stop()
      }
      context.exitCode = .interrupted
    } catch let error as HTTPServerError {
      throw context.arguments.mistake(
        error.message, about: "listen", hint: error.hint ?? "use another port, or 0 for any free one")
    }
  }

  /// Returns the inspector, which has the only reference to the vault, so that it can wipe the keys.
  private static func inspector(
    _ context: CommandContext, _ settings: Inspector.Settings, onLock: @escaping @Sendable () -> Void
  ) throws -> Inspector {
    let vault = try context.openVault(separatingReads: true)
    let name = vault.layout.folder.split(separator: "/").last.map(String.init) ?? vault.layout.folder
    return Inspector(vault, name: name, settings: settings, onLock: onLock)
  }

  private enum Event: Sendable {
    case ready(String)
    case locked
  }

  private static func tell(_ event: Event, _ context: CommandContext) throws {
    switch event {
    case .ready(let url):
      if context.isJSON {
        try context.writeJSON { json in
          json.beginObject()
          json.member("url", url)
          json.endObject()
        }
      } else {
        try context.output.line(url)
      }
      try context.output.flush()
      context.note("Open the link in a browser on this machine. It works once. Control-C ends the page.")
    case .locked: context.note("The page was idle for too long, so the vault was closed. Control-C ends the program.")
    }
  }
}
