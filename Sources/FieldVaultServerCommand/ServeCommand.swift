import CommandLineKit
import Platform
import PostgresStorage
import SyncServer

/// Serves until a signal asks to stop, or checks the settings.
enum ServeCommand {
  static func run(_ context: CommandContext) async throws {
    let settings = try ServeSettings(context)
    if context.arguments.flag("check") {
      try await settings.check()
      return try report(context, settings.limits)
    }
    let server = try settings.start(context)
    let state = Locked(RunningSettings(context.arguments, isEncrypted: settings.identity != nil))
    let stopping = AsyncStream.makeStream(of: Void.self)
    let ready = ServiceManager.State.ready("listening on \(server.url)")
    Signals.onStop { _ in stopping.continuation.finish() }
    Signals.onHangUp {
      notify(.reloading, context)
      state.withLock { reload(server, settings.limits, context, &$0) }
      notify(ready, context)
    }
    try context.output.line("listening on \(server.url)")
    if let url = server.adminURL { try context.output.line("metrics on \(url)/metrics") }
    try context.output.flush()
    notify(ready, context)
    for await _ in stopping.stream {}
    notify(.stopping, context)
    await server.stop()
  }

  /// Tells the service manager about a state. A manager that cannot be reached does not stop the server.
  private static func notify(_ state: ServiceManager.State, _ context: CommandContext) {
    do throws(ServiceManager.Failure) {
      try ServiceManager(address: Terminal.variable("NOTIFY_SOCKET"))?.notify(state)
    } catch {
      context.line("warning: \(error.message)")
    }
  }

  // MARK: SIGHUP

  /// Reads the configuration file, the certificate and the keys of the identity provider again. If any of them cannot be used, nothing changes.
  private static func reload(
    _ server: FieldVaultServer, _ limits: ServerLimits, _ former: CommandContext, _ running: inout RunningSettings
  ) {
    do {
      let context = try former.completed()
      let settings = try ServeSettings(context, running: limits)
      let change = running.change(to: context.arguments, isEncrypted: settings.identity != nil)
      // The last step that can fail comes first.
      if let identity = settings.identity, running.isEncrypted {
        try server.replace(identity)
        context.note("reloaded the certificate")
      }
      if let signIn = settings.signIn { server.replace(signIn.keys) }
      server.change(settings.limits)
      running = change.running
      if !change.reloaded.isEmpty { context.note("reloaded: \(change.reloaded.joined(separator: ", "))") }
      if !change.waiting.isEmpty { context.line("needs a restart: \(change.waiting.joined(separator: ", "))") }
    } catch {
      former.line("cannot reload the settings; nothing was changed")
      former.line(ErrorReport(error).text(for: former.messages.terminal))
    }
  }

  // MARK: Checking

  private static func report(_ context: CommandContext, _ limits: ServerLimits) throws {
    let settings = context.arguments.effectiveSettings.map { setting in
      (setting.name, value(of: setting, limits), setting.source)
    }
    guard context.isJSON else {
      var table = TextTable(["setting", "value", "source"], whole: ["value"])
      for (name, value, source) in settings { table.add([name, value, text(of: source)]) }
      try context.output.write(table.text(for: context.output.terminal))
      return context.note("the settings and the data can be used; nothing was changed")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("ok", true)
      json.key("settings")
      json.beginArray()
      for (name, value, source) in settings {
        json.beginObject()
        json.member("name", name)
        json.member("value", value)
        write(source, to: &json)
        json.endObject()
      }
      json.endArray()
      json.endObject()
    }
  }

  /// Returns the value that the server uses: a limit whose default was lowered, and no password.
  private static func value(of setting: ParsedArguments.EffectiveSetting, _ limits: ServerLimits) -> String {
    switch setting.name {
    case "max-connections": String(limits.http.connections)
    case "max-connections-per-address": String(limits.http.connectionsPerAddress)
    case "max-waiting": String(limits.waiters)
    case "max-waiting-per-user": String(limits.waitersPerUser)
    default: PostgresSettings.hasPassword(setting.value) ? "(not shown, because it contains a password)" : setting.value
    }
  }

  private static func text(of source: ValueSource) -> String {
    switch source {
    case .commandLine: "command line"
    case .environment(let variable): "environment \(variable)"
    case .file(let path, let line): "\(path):\(line)"
    case .declaredDefault: "default"
    }
  }

  private static func write(_ source: ValueSource, to json: inout JSONWriter) {
    switch source {
    case .commandLine: json.member("source", "command line")
    case .environment(let variable):
      json.member("source", "environment")
      json.member("variable", variable)
    case .file(let path, let line):
      json.member("source", "file")
      json.member("file", path)
      json.member("line", line)
    case .declaredDefault: json.member("source", "default")
    }
  }
}

/// The settings that a running server uses.
struct RunningSettings: Equatable, Sendable {
  /// The values of each setting.
  private(set) var values: [String: [String]]
  /// Whether the server uses TLS.
  let isEncrypted: Bool

  init(_ arguments: ParsedArguments, isEncrypted: Bool) {
    values = Dictionary(grouping: arguments.effectiveSettings, by: \.name).mapValues { $0.map(\.value) }
    self.isEncrypted = isEncrypted
  }

  /// The effect of settings that were read again.
  struct Change: Equatable {
    /// The settings of the server afterwards.
    var running: RunningSettings
    /// The names of the changed settings that the server takes over, sorted.
    var reloaded: [String] = []
    /// The names of the changed settings that the server takes over when it starts again, sorted.
    var waiting: [String] = []
  }

  /// Returns the effect of settings that were read again. A certificate is replaced while the server runs, but TLS is not
  /// switched on or off.
  func change(to arguments: ParsedArguments, isEncrypted: Bool) -> Change {
    let new = RunningSettings(arguments, isEncrypted: isEncrypted)
    var reloadable = arguments.reloadableSettings
    if isEncrypted != self.isEncrypted { reloadable.subtract(["tls-cert", "tls-key"]) }
    // Sign-in is not switched on or off either.
    if values["jwt-keys"] == nil || new.values["jwt-keys"] == nil { reloadable.remove("jwt-keys") }
    var change = Change(running: self)
    for name in Set(values.keys).union(new.values.keys).sorted() where values[name] != new.values[name] {
      if reloadable.contains(name) {
        change.running.values[name] = new.values[name]
        change.reloaded.append(name)
      } else {
        change.waiting.append(name)
      }
    }
    return change
  }
}
