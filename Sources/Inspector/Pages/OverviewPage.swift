import Platform
import CipherSQL
import VaultStore
import WebPages

extension InspectorPages {
  /// The state of the vault at a glance. Every number is a link.
  func overview() throws -> WebPage {
    let status = try vault.status(countsRecords: false)
    let files = try vault.attachmentUsage()
    let run = try vault.history(limit: 1).first
    func number(_ count: Int, _ link: Link, _ style: String = "") -> HTML {
      let number: HTML =
        count > 0 && !style.isEmpty
        ? "<strong class=\"\(style)\">\(countText(count))</strong>" : "\(countText(count))"
      return HTML.link(link, number)
    }
    let outbox = Link("/outbox")
    var sync: [(name: String, value: HTML)] = [
      ("Doctor", try doctorLink()), ("Server", status.remoteURL.map { HTML.value($0) } ?? "none"),
      ("Last sync (UTC)", status.lastSync.map { HTML.link(Link("/rounds"), Self.time($0)) } ?? "never"),
      ("Pending operations", number(status.pending, outbox)),
      ("Failed operations", number(status.failed, outbox.with("status", "failed"), "bad")),
      ("Open conflicts", number(status.conflicts, Link("/conflicts"), "warn")),
    ]
    if status.mode == "device" { sync.append(("Mode", "device only: nothing is sent")) }
    if status.processing > 0 { sync.append(("In flight", number(status.processing, outbox))) }
    if status.parked > 0 { sync.append(("Blocked by a failed or conflicted operation", number(status.parked, outbox))) }
    if status.kept > 0 {
      sync.append(("Versions of the server that cannot be stored yet", "\(countText(status.kept))"))
    }
    if let pause = status.pause { sync.append(("Paused", "<span class=\"warn\">\(HTML.value(pause))</span>")) }
    if let run { sync.append(("Last round", "\(HTML.link(Link("/rounds"), "\(run.outcome)"))")) }
    let storage: [(name: String, value: HTML)] = [
      ("Files", number(files.contents, Link("/files"))),
      ("Bytes of files on this device", HTML.link(Link("/files"), "\(byteText(files.bytesUsed))")),
      ("Files to upload", number(files.waiting, Link("/files"))),
      ("Failed transfers", number(files.failed, Link("/files"), "bad")),
      ("Database", HTML.link(Link("/storage"), "\(byteText(try databaseBytes()))")),
      ("Key slots", number(try vault.slots().count, Link("/keys"))),
    ]
    return WebPage(
      "Overview",
      HTML.section("Sync", HTML.definitions(sync)) + HTML.section("Storage", HTML.definitions(storage))
        + HTML.section("Records", try entityTable()))
  }

  /// The size of the database file, in bytes.
  func databaseBytes() throws -> Int64 {
    try vault.database.read { connection in
      try connection.fetchOne(
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()", as: Int64.self) ?? 0
    }
  }

  /// The entities with their numbers of records, counted up to a limit.
  func entityTable() throws -> HTML {
    let counts = try vault.database.read { connection in
      try vault.entities.all.map { entity -> (entity: Entity, count: Int) in
        let condition: SQL = entity.marksDeletion ? " WHERE isDeleted = 0" : ""
        let count = try connection.fetchOne(
          "SELECT count(*) FROM (SELECT 1 FROM \(identifier: entity.table.name)\(condition) LIMIT \(Self.countLimit + 1))",
          as: Int.self)
        return (entity, count ?? 0)
      }
    }
    let rows = counts.map { entry in
      HTML.row([
        HTML.link(Link("/records").with("entity", entry.entity.type), HTML.value(entry.entity.type)),
        "\(Self.capped(entry.count))", HTML.value(entry.entity.table.name),
        entry.entity.sync.map { HTML.value($0.rules.policy.rawValue.replacing("_", with: " ")) } ?? "not synced",
      ])
    }
    return HTML.table("Entities", ["entity", "records", "table", "conflict policy"], rows)
  }
}
