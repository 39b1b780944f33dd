import Platform
import CipherSQL
import VaultStore
import WebPages

extension InspectorPages {
  /// The size of the database, of its tables and of the files.
  func storage() throws -> WebPage {
    let usage = try vault.attachmentUsage()
    let total = try databaseBytes()
    let (free, tables) = try vault.database.read { connection in
      let free = try connection.fetchOne(
        "SELECT freelist_count * page_size FROM pragma_freelist_count(), pragma_page_size()", as: Int64.self)
      let names = try connection.fetch(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name", as: String.self)
      let tables = try names.map { name -> (String, Int) in
        let count = try connection.fetchOne(
          "SELECT count(*) FROM (SELECT 1 FROM \(identifier: name) LIMIT \(Self.countLimit + 1))", as: Int.self)
        return (name, count ?? 0)
      }
      return (free ?? 0, tables)
    }
    let facts: [(name: String, value: HTML)] = [
      ("Database", "\(byteText(total))"), ("Free pages in it", "\(byteText(free))"),
      ("Files", "\(countText(usage.contents))"), ("Bytes of files on this device", "\(byteText(usage.bytesUsed))"),
      ("Limit for files", "\(byteText(usage.limit))"), ("Bytes to upload", "\(byteText(usage.bytesWaiting))"),
    ]
    let rows = tables.map { HTML.row([HTML.value($0.0), "\(Self.capped($0.1))"]) }
    return WebPage(
      "Storage", HTML.definitions(facts) + HTML.section("Tables", HTML.table("Tables", ["table", "rows"], rows)))
  }

  /// The key slots: the ways to unlock the vault.
  func keys() throws -> WebPage {
    let opened = vault.openedSlotID
    let rows = try vault.slots().map { slot in
      HTML.row([
        "\(slot.id)", "\(slot.kind.rawValue)", HTML.value(slot.label), Self.time(slot.createdAt),
        slot.id == opened ? "opened this vault" : "",
      ])
    }
    return WebPage("Keys", HTML.table("Key slots", ["slot", "kind", "label", "set (UTC)", ""], rows))
  }
}
