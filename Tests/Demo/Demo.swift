import CipherSQL
import VaultStore
import RestorationModel
import VaultKeys

/// What the demo does through the library: `fieldvault-demo questions|rotate|digests VAULT PASSPHRASE_FILE`.
@main
enum Demo {
  static func main() async throws {
    let words = CommandLine.arguments
    guard words.count == 4, ["questions", "rotate", "digests"].contains(words[1]) else {
      print("usage: fieldvault-demo questions|rotate|digests VAULT PASSPHRASE_FILE")
      return
    }
    let passphrase = try SecretSource.file(path: words[3]).readPassphrase()
    let vault = try Vault.open(at: words[2], with: .passphrase(passphrase), schemas: [RestorationSchema.schema])
    defer { vault.close() }
    if words[1] == "rotate" { return try await DemoRotation.run(vault) }
    if words[1] == "digests" { return try await DemoDigests.run(vault) }
    try await vault.database.read { db in
      try typedQuery(db)
      try namedQuery(db)
    }
  }

  /// Composed from column tokens; a column that does not exist or a value of the wrong type does not compile.
  private static func typedQuery(_ db: Connection) throws {
    let project = try Project.where { $0.status == .active }.fetchFirst(db)
    guard let project else { return print("  There is no active project.") }
    let storms = AtmosphericLog.where { $0.projectId == project.projectId && $0.windSpeed >= 40 }
    print(
      "  \(try storms.count(db)) readings of '\(project.title)' were taken in winds of 40 mph and more. The first three:"
    )
    for (log, room) in try storms.order({ $0.date.ascending }).limit(3).fetch(db).with(AtmosphericLog.room, db) {
      let wind = log.windSpeed.map { "\(Int($0)) mph" } ?? "no wind reading"
      print("    \(log.date.sqlText)  \(room?.title ?? "no room")  \(wind), \(log.temperature) °F")
    }
  }

  /// From Schema/restoration/queries: checked against the tables when the program was built.
  private static func namedQuery(_ db: Connection) throws {
    guard let project = try Project.where({ $0.status == .active }).fetchFirst(db) else { return }
    let months = try RestorationQueries.averageHumidityByRoomAndMonth(db, projectId: project.projectId)
    guard let dampest = months.max(by: { $0.averageHumidity < $1.averageHumidity }) else { return }
    let humidity = Int(dampest.averageHumidity.rounded())
    print(
      "  The dampest month of any room: \(dampest.month) at \(dampest.room), \(humidity) % over \(dampest.readings) readings."
    )
  }
}
