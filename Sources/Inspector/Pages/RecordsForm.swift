import CipherSQL
import VaultStore
import WebPages

extension InspectorPages {
  /// The number of filters in the form and in the address.
  static let filterCount = 3

  /// The form with the filters, the columns and the deleted records. It keeps the order.
  func filterForm(_ call: WebCall, _ entity: Entity, _ shown: [Catalog.Column]) -> HTML {
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
}
