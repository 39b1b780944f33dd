import CipherSQL
import Platform
import VaultStore
import WebPages

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension InspectorPages {
  /// The greatest number of characters of a value in a table. The page of the record shows the whole value.
  private static let cellLimit = 200

  /// The common fields that a table shows only on request.
  private static let hidden: Set<String> = [
    "serverId", "createdAt", "updatedAt", "lastSyncedAt", "syncVersion", "isDirty", "isDeleted",
  ]

  /// The selection of records in an address.
  struct RecordsView: Sendable {
    let entity: Entity
    let request: RecordPageRequest
    /// The columns that are shown.
    let shown: [Catalog.Column]

    /// The positions of the shown columns in a row.
    var places: [Int32] {
      shown.compactMap { column in entity.shownColumns.firstIndex { $0.name == column.name }.map { Int32($0) } }
    }
  }

  /// The records of an entity: filters, order, columns to choose, and pages.
  ///
  /// A read that takes long goes on beside the pages, and the page shows its progress.
  func records(_ call: WebCall) async throws -> WebResponse {
    guard let type = call.query["entity"], !type.isEmpty else {
      return .page(WebPage("Records", try await offload { try entityTable() }))
    }
    let entity = try vault.entities.entity(type)
    let view = RecordsView(
      entity: entity, request: try request(call, entity), shown: try shownColumns(call, entity))
    if call.query["as"] == "csv" { return try await csv(view) }
    // The same records, whether the page refreshes itself or not.
    let address = call.query.filter { $0.key != "still" && $0.key != "stopped" }
    if call.query["stopped"] != nil { return .page(stoppedPage(call, view)) }
    let outcome = await reads.page(address) { [self] read in try await page(call, view, for: read) }
    switch outcome {
    case .ended(.success(let page)): return .page(page)
    case .ended(.failure(let error)):
      if error is CancellationError { return .page(stoppedPage(call, view)) }
      throw error
    case .displaced: return .page(displacedPage(view, address))
    case .running(let read, let id):
      let form: HTML = "<input type=\"hidden\" name=\"id\" value=\"\(id)\"><button>Cancel</button>"
      return .page(
        progressPage(
          entity.type, progress(of: read), at: Self.address(address), isStill: call.query["still"] != nil,
          cancel: HTML.form(Link("/records/cancel"), token: call.token, form)))
    }
  }

  /// Ends the read of a page, and leads to the page without its records.
  func cancelRecords(_ form: [String: String]) throws -> Link {
    guard let id = Int(try required("id", form)) else { throw Problem.badAddress("id") }
    guard let address = reads.cancel(id) else {
      throw Problem(
        title: "The read has ended", status: 410, text: "Its page has been shown, or was not requested for a while.")
    }
    return Self.address(address).with("stopped", "1")
  }

  private func progress(of read: BackgroundReads.Read) -> HTML {
    let (visited, total) = (read.progress.visited, read.progress.total)
    let time = durationText((vault.environment.clock.instant() - read.start) / .seconds(1))
    guard visited > 0 else { return "Reading records for \(time)" }
    let most = total.map { " of at most \(countText(max($0, visited)))" } ?? ""
    return "Reading records for \(time): \(countText(visited))\(most) rows visited"
  }

  private func stoppedPage(_ call: WebCall, _ view: RecordsView) -> WebPage {
    WebPage(
      view.entity.type, notice: "The read was cancelled. Show begins it again.",
      filterForm(call, view.entity, view.shown))
  }

  private func displacedPage(_ view: RecordsView, _ address: BackgroundReads.Address) -> WebPage {
    WebPage(
      view.entity.type,
      """
      <p class="warn">This read was ended, because newer ones began: few may run at a time.</p>
      <p>\(HTML.link(Self.address(address), "Read again"))</p>
      """)
  }

  /// Reads the page.
  private func page(
    _ call: WebCall, _ view: RecordsView, for read: BackgroundReads.Read
  ) async throws -> WebPage {
    let found = try await vault.database.read { visited in
      read.report { $0.visited = visited }
    } _: { connection in
      let reader = RecordReader(connection)
      // An upper limit, because counting the rows would visit them.
      let last = try connection.fetchOne(
        "SELECT max(\(identifier: view.entity.key)) FROM \(identifier: view.entity.table.name)", as: Int?.self)
      let scans = try reader.parts(of: view.request, view.entity).count
      read.report { $0.total = last.flatMap { $0 }.map { min($0, Int.max / scans) * scans } }
      return try Self.rows(view, reader)
    }
    return page(call, view, found)
  }

  private struct FoundRows: Sendable {
    var rows: [HTML] = []
    /// The last record of the page.
    var last: UUID?
    var hasMore = false
  }

  private static func rows(_ view: RecordsView, _ reader: RecordReader) throws -> FoundRows {
    var found = FoundRows()
    let places = view.places
    let place = view.entity.shownColumns.firstIndex { $0.name == "uuid" }
    var request = view.request
    request.limit += 1
    try reader.forEach(view.entity, page: request) { row in
      if found.rows.count == view.request.limit {
        found.hasMore = true
        return
      }
      let uuid = try place.map { try row.decode(UUID.self, at: Int32($0)) }
      found.last = uuid
      var cells: [HTML] = []
      for (column, place) in zip(view.shown, places) {
        let cell = FieldCell(column: column).html(try row.decode(SQLArgument.self, at: place), limit: cellLimit)
        guard column.name == "uuid", let uuid else {
          cells.append(cell)
          continue
        }
        let link = Link("/record").with("entity", view.entity.type).with("uuid", uuid.sqlText)
        cells.append(HTML.link(link, HTML.value(uuid.sqlText)))
      }
      found.rows.append(HTML.row(cells))
    }
    return found
  }

  private func page(_ call: WebCall, _ view: RecordsView, _ found: FoundRows) -> WebPage {
    let titles = view.shown.map { column -> HTML in
      let isOrder = call.query["order"] == column.name
      let next = isOrder && call.query["desc"] == nil ? "1" : nil
      let link = Self.address(call, ["order": column.name, "desc": next, "after": nil])
      let sign: HTML = isOrder ? (view.request.isDescending ? " ▼" : " ▲") : ""
      return HTML.link(link, "\(FieldCell(column: column).title)\(sign)")
    }
    var pages: HTML = ""
    if call.query["after"] != nil { pages += HTML.link(Self.address(call, ["after": nil]), "First page") }
    if found.hasMore, let last = found.last {
      pages += HTML.link(Self.address(call, ["after": last.sqlText]), "Next page")
    }
    pages += HTML.link(
      Self.address(call, ["as": "csv", "after": nil, "order": nil, "desc": nil]), "CSV, in the order of creation")
    let type = view.entity.type
    let table = found.rows.isEmpty ? "<p>No records.</p>" : HTML.table("Records of \(type)", titles, found.rows)
    return WebPage(
      type,
      filterForm(call, view.entity, view.shown) + table
        + "<nav class=\"pages\" aria-label=\"Pages of the table\">\(pages)</nav>")
  }

  /// The address of the same page with some parameters changed.
  private static func address(_ call: WebCall, _ changes: [String: String?]) -> Link {
    var parameters = call.query
    parameters["still"] = nil
    for (name, value) in changes { parameters[name] = value }
    return address(parameters)
  }

  /// The address of the page with these parameters.
  private static func address(_ parameters: BackgroundReads.Address) -> Link {
    parameters.sorted { $0.key < $1.key }.reduce(Link("/records")) { $0.with($1.key, $1.value) }
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
}
