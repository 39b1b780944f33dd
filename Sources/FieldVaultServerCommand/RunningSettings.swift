import CommandLineKit

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
