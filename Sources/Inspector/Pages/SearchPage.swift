import RecordStore
import VaultStore
import WebPages

extension InspectorPages {
  /// Full-text search with the places of the words.
  func search(_ call: WebCall) throws -> WebPage {
    let text = call.query["q"] ?? ""
    let form: HTML = """
      <form class="filter" method="get" action="\(Link("/search"))" role="search"><label>Words
      <input name="q" value="\(text)"></label> <button>Search</button></form>
      """
    let searchable = vault.entities.all.filter { $0.searchTable != nil }.map(\.type)
    guard !searchable.isEmpty else {
      return WebPage("Search", "<p>The schemas of this vault declare no search table.</p>")
    }
    guard text.contains(where: { !$0.isWhitespace }) else {
      return WebPage("Search", "\(form)<p>Searches \(HTML.value(searchable.joined(separator: ", "))).</p>")
    }
    let results = try vault.database.read { try Search($0, entities: vault.entities).find(text) }
    if results.isEmpty { return WebPage("Search", "\(form)<p>No record has these words.</p>") }
    let rows = results.map { result in
      HTML.row([Self.link(result.entityType, result.uuid.sqlText), HTML.value(result.snippet)])
    }
    return WebPage("Search", form + HTML.table("Records found", ["record", "text"], rows))
  }
}
