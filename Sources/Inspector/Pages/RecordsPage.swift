import Platform
import CipherSQL
import VaultStore
import WebPages

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension InspectorPages {
  /// The greatest number of bytes of a CSV file, which is made in memory.
  private static let csvLimit = 32 << 20

  /// The greatest number of characters of a value in a table. The page of the record shows the whole value.
  private static let cellLimit = 200

  /// The common fields that a table shows only on request.
  private static let hidden: Set<String> = [
    "serverId", "createdAt", "updatedAt", "lastSyncedAt", "syncVersion", "isDirty", "isDeleted",
  ]

  /// The records of an entity: filters, order, columns to choose, and pages.
  func records(_ call: WebCall) throws -> WebResponse {
    guard let type = call.query["entity"], !type.isEmpty else { return .page(WebPage("Records", try entityTable())) }
    let entity = try vault.entities.entity(type)
    let request = try request(call, entity)
    let shown = try shownColumns(call, entity)
    if call.query["as"] == "csv" { return try csv(entity, request, shown) }
    var rows: [HTML] = []
    var last: UUID?
    let all = entity.shownColumns
    let places = shown.compactMap { column in all.firstIndex { $0.name == column.name } }
    let place = all.firstIndex { $0.name == "uuid" }
    try vault.database.read { connection in
      var request = request
      request.limit += 1
      try RecordReader(connection).forEach(entity, page: request) { row in
        if rows.count == request.limit - 1 { return rows.append("") }
        let uuid = try place.map { try row.decode(UUID.self, at: Int32($0)) }
        last = uuid
        var cells: [HTML] = []
        for (column, place) in zip(shown, places) {
          let cell = FieldCell(column: column).html(
            try row.decode(SQLArgument.self, at: Int32(place)), limit: Self.cellLimit)
          guard column.name == "uuid", let uuid else {
            cells.append(cell)
            continue
          }
          cells.append(
            HTML.link(Link("/record").with("entity", entity.type).with("uuid", uuid.sqlText), HTML.value(uuid.sqlText)))
        }
        rows.append(HTML.row(cells))
      }
    }
    let hasMore = rows.count > request.limit
    if hasMore { rows.removeLast() }
    let titles = shown.map { column -> HTML in
      let isOrder = call.query["order"] == column.name
      let next = isOrder && call.query["desc"] == nil ? "1" : nil
      let link = Self.address(call, ["order": column.name, "desc": next, "after": nil])
      let sign: HTML = isOrder ? (request.isDescending ? " ▼" : " ▲") : ""
      return HTML.link(link, "\(FieldCell(column: column).title)\(sign)")
    }
    var pages: HTML = ""
    if call.query["after"] != nil { pages += HTML.link(Self.address(call, ["after": nil]), "First page") }
    if hasMore, let last { pages += HTML.link(Self.address(call, ["after": last.sqlText]), "Next page") }
    pages += HTML.link(Self.address(call, ["as": "csv", "after": nil]), "CSV")
    let table = rows.isEmpty ? "<p>No records.</p>" : HTML.table("Records of \(entity.type)", titles, rows)
    return .page(
      WebPage(
        "\(entity.type)",
        filterForm(call, entity, shown) + table
          + "<nav class=\"pages\" aria-label=\"Pages of the table\">\(pages)</nav>"))
  }

  /// The address of the same page with some parameters changed.
  private static func address(_ call: WebCall, _ changes: [String: String?]) -> Link {
    var link = Link("/records")
    for name in Set(call.query.keys).union(changes.keys).sorted() {
      link = link.with(name, changes[name] ?? call.query[name])
    }
    return link
  }

  private func request(_ call: WebCall, _ entity: Entity) throws -> RecordPageRequest {
    var request = RecordPageRequest()
    request.order = call.query["order"].flatMap { $0.isEmpty ? nil : $0 }
    request.isDescending = call.query["desc"] != nil
    request.includesDeleted = call.query["deleted"] != nil
    if let after = call.query["after"] {
      guard let uuid = UUID(sqlText: after) else { throw Problem.badAddress("after") }
      request.after = uuid
    }
    for number in 1...Self.filterCount {
      guard let field = call.query["field\(number)"], !field.isEmpty else { continue }
      guard let comparison = RecordPageRequest.Filter.Comparison(rawValue: call.query["is\(number)"] ?? "equals") else {
        throw Problem.badAddress("is\(number)")
      }
      request.filters.append(.init(field, comparison, call.query["value\(number)"] ?? ""))
    }
    return request
  }

  private static let filterCount = 3

  /// The columns that the address names, or the fields without most of the common ones.
  private func shownColumns(_ call: WebCall, _ entity: Entity) throws -> [Catalog.Column] {
    let chosen = entity.shownColumns.filter { call.query["show.\($0.name)"] != nil }
    guard chosen.isEmpty else {
      return entity.shownColumns.filter { $0.name == "uuid" || call.query["show.\($0.name)"] != nil }
    }
    // The id leads to the record, so it comes first.
    let columns = entity.shownColumns.filter { !Self.hidden.contains($0.name) && $0.name != entity.key }
    return columns.filter { $0.name == "uuid" } + columns.filter { $0.name != "uuid" }
  }

  private func filterForm(_ call: WebCall, _ entity: Entity, _ shown: [Catalog.Column]) -> HTML {
    let words: [RecordPageRequest.Filter.Comparison: String] = [
      .equals: "=", .differs: "is not", .atLeast: "at least", .atMost: "at most", .contains: "contains",
      .begins: "begins with", .isEmpty: "is empty", .hasValue: "has a value",
    ]
    let filters = (1...Self.filterCount).map { number -> HTML in
      let field = call.query["field\(number)"] ?? ""
      let comparison = call.query["is\(number)"] ?? "equals"
      let fields = entity.shownColumns.map { column -> HTML in
        "<option value=\"\(column.name)\"\(column.name == field ? " selected" : "" as HTML)>\(column.name)</option>"
      }
      let comparisons = RecordPageRequest.Filter.Comparison.allCases.map { kind -> HTML in
        "<option value=\"\(kind.rawValue)\"\(kind.rawValue == comparison ? " selected" : "" as HTML)>\(words[kind] ?? "")</option>"
      }
      return """
        <p><select name="field\(number)" aria-label="Field of filter \(number)"><option value="">any field</option>\(fields)</select>
        <select name="is\(number)" aria-label="Comparison of filter \(number)">\(comparisons)</select>
        <input name="value\(number)" value="\(call.query["value\(number)"] ?? "")" aria-label="Value of filter \(number)"></p>
        """
    }
    let names = Set(shown.map(\.name))
    let columns = entity.shownColumns.filter { $0.name != "uuid" }.map { column -> HTML in
      """
      <label><input type="checkbox" name="show.\(column.name)" value="1"\(names.contains(column.name) ? " checked" : "" as HTML)>
      \(column.name)</label>
      """
    }
    let order: HTML =
      call.query["order"].map { "<input type=\"hidden\" name=\"order\" value=\"\($0)\">" } ?? ""
    let descending: HTML = call.query["desc"] != nil ? "<input type=\"hidden\" name=\"desc\" value=\"1\">" : ""
    return """
      <details\(call.query.keys.contains { $0 != "entity" && $0 != "after" } ? " open" : "" as HTML)><summary>Filter and columns</summary>
      <form class="filter" method="get" action="\(Link("/records"))"><input type="hidden" name="entity" value="\(entity.type)">\
      \(order)\(descending)\(filters)
      <fieldset><legend>Columns</legend>\(columns)</fieldset>
      <p><label><input type="checkbox" name="deleted" value="1"\(call.query["deleted"] != nil ? " checked" : "" as HTML)> deleted
      records too</label> <button>Show</button></p></form></details>
      """
  }

  /// The selected records as CSV (RFC 4180).
  private func csv(
    _ entity: Entity, _ request: RecordPageRequest, _ shown: [Catalog.Column]
  ) throws -> WebResponse {
    var text = shown.map { CSVText.cell($0.name) }.joined(separator: ",") + "\r\n"
    let all = entity.shownColumns
    let places = shown.compactMap { column in all.firstIndex { $0.name == column.name } }
    try vault.database.read { connection in
      var request = request
      request.limit = Int.max
      try RecordReader(connection).forEach(entity, page: request) { row in
        var cells: [String] = []
        for (column, place) in zip(shown, places) {
          let value = try row.decode(SQLArgument.self, at: Int32(place))
          cells.append(CSVText.cell(FieldCell.text(value, of: column) ?? ""))
        }
        text += cells.joined(separator: ",") + "\r\n"
        guard text.utf8.count <= Self.csvLimit else {
          throw Problem(
            title: "The file would be too large", status: 413,
            text:
              "The inspector makes files up to \(byteText(Self.csvLimit)). Filter the records, or export them with the program."
          )
        }
      }
    }
    return .content(type: "text/csv; charset=utf-8", Array(text.utf8), fileName: "\(entity.type).csv")
  }
}
