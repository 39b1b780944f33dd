import CipherSQL
import Foundation
import Platform
import RestorationModel
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import Inspector
@testable import VaultStore

/// A vault with hostile values in every text, an unsent record, a photo and a conflict, and its inspector.
final class InspectedVault {
  /// A value that would leave an attribute, an element and a script, and turn the writing direction.
  static let hostile =
    "\"'><script>window.scriptOfARecordRan = true</script><img src=x onerror=alert(1)> \u{202E}\u{7} & 50% \n end"

  let folder: TemporaryFolder
  let vault: Vault
  let clock = TestClock(isRunning: false)
  let inspector: Inspector
  let link: String
  let browser: Browser
  let locks = Locked(0)
  var project = UUID()
  var room = UUID()

  /// - Parameter patience: the time that a page waits for its records, on the clock of the test.
  init(isWritable: Bool = true, patience: Duration = .seconds(1)) throws {
    let folder = try TemporaryFolder()
    let environment = Environment(clock: clock.clock, random: .repeatable(7))
    let vault = try Vault.create(
      at: folder.file("<b>job.vault"),
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: keyFileSecret(), configuration: Configuration(environment: environment))
    (self.folder, self.vault) = (folder, vault)
    var settings = Inspector.Settings()
    (settings.isWritable, settings.idleSeconds, settings.patience) = (isWritable, 60, patience)
    inspector = Inspector(vault, name: "<b>job.vault", settings: settings) { [locks] in locks.withLock { $0 += 1 } }
    link = try inspector.start("127.0.0.1:0")
    browser = try Browser(link)
  }

  var path: String { String(link.dropFirst("http://127.0.0.1:\(browser.port)".count)) }

  /// Opens the link.
  func enter() throws {
    let reply = try browser.get(path)
    #expect(reply.status == 303)
    #expect(reply.headers["location"] == "/")
  }

  func fill() throws {
    let text = Self.hostile
    project = try put("Project", ["title": text])
    let location = try put("Location", ["projectId": project.sqlText, "type": "building", "title": text])
    room = try put("Room", ["projectId": project.sqlText, "locationId": location.sqlText, "title": text])
    _ = try put("Note", ["projectId": project.sqlText, "title": text, "body": text])
    let room = try vault.entities.entity("Room")
    _ = try vault.attach([packagePath("Tests/Data/rocket.jpg")], to: room, self.room)
  }

  private func put(_ type: String, _ fields: [String: String]) throws -> UUID {
    try vault.put(try vault.entities.entity(type), fields.sorted { $0.key < $1.key }.map { ($0.key, .text($0.value)) })
  }

  /// Edits a record that the server has changed as well.
  func makeConflict() throws -> (id: String, project: UUID) {
    let uuid = UUID.version7().sqlText
    func remote(_ title: String, _ version: Int64) -> RemoteRecord {
      let fields = SyncObject([("title", .text(title)), ("status", .text("active"))])
      return RemoteRecord(
        entityType: "Project", entityUuid: uuid, serverId: 900, createdAt: 0,
        state: RecordState(fields: fields, syncVersion: version, updatedAt: version))
    }
    func apply(_ record: RemoteRecord) throws {
      var counts = ApplyCounts()
      try vault.syncNow { try $0.changes.apply(record, counts: &counts) }
    }
    try apply(remote("base", 1))
    let id = try #require(UUID(sqlText: uuid))
    _ = try vault.put(try vault.entities.entity("Project"), [("title", .text("here" + Self.hostile))], uuid: id)
    try apply(remote("server" + Self.hostile, 2))
    return (try #require(try vault.conflicts().first?.conflictId), id)
  }

  deinit {
    let inspector = inspector
    Task { await inspector.stop() }
  }
}

/// Rotates the database key of a vault that nothing else has open.
func rotateKey(at path: String) throws {
  let vault = try Vault.open(at: path, with: keyFileSecret(), schemas: [RestorationSchema.schema])
  _ = try vault.rotateKey(.databaseKey)
}
