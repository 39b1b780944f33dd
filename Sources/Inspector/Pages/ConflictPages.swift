import SyncModel
import VaultStore
import WebPages

extension InspectorPages {
  private static let conflictLimit = 200

  /// A page of the conflicts that need a decision, or of all of them.
  func conflicts(_ call: WebCall) throws -> WebPage {
    let includesResolved = call.query["all"] != nil
    let found = try vault.conflicts(
      resolved: includesResolved, after: call.query["after"], limit: Self.conflictLimit + 1)
    let entries = found.prefix(Self.conflictLimit)
    let list = Link("/conflicts").with("all", includesResolved ? "1" : nil)
    var ways: HTML = call.query["after"] == nil ? "" : "<p>\(HTML.link(list, "First page"))</p>"
    if found.count > entries.count, let last = entries.last {
      ways += "<p>\(HTML.link(list.with("after", last.conflictId), "Next page"))</p>"
    }
    let other =
      includesResolved
      ? HTML.link(Link("/conflicts"), "Open conflicts only")
      : HTML.link(Link("/conflicts").with("all", "1"), "Resolved conflicts too")
    let notice = call.query["done"] == "resolved" ? "The conflict is resolved. The next sync sends the result." : nil
    if entries.isEmpty { return WebPage("Conflicts", notice: notice, "<p>No conflicts.</p>\(ways)<p>\(other)</p>") }
    let rows = entries.map { entry in
      HTML.row([
        HTML.link(Link("/conflict").with("id", entry.conflictId), "\(entry.conflictType.replacing("_", with: " "))"),
        Self.link(entry.entityType, entry.entityUuid), HTML.value(entry.fields.joined(separator: ", ")),
        Self.time(entry.detectedAt), Self.time(entry.resolvedAt),
      ])
    }
    return WebPage(
      "Conflicts", notice: notice,
      HTML.table("Conflicts", ["conflict", "record", "fields", "found (UTC)", "resolved (UTC)"], rows)
        + "\(ways)<p>\(other)</p>")
  }

  /// One conflict: base, local and remote version side by side, and a choice for each field.
  func conflict(_ call: WebCall) throws -> WebPage {
    let entry = try vault.conflict(try required("id", call.query))
    let entity = try vault.entities.entity(entry.entityType)
    let versions = try ConflictVersions(entry, order: entity.fields)
    var body: HTML = "<p>\(ConflictVersions.explanation(of: entry.conflictType))</p>"
    var facts: [(name: String, value: HTML)] = [
      ("Record", Self.link(entry.entityType, entry.entityUuid)), ("Found (UTC)", Self.time(entry.detectedAt)),
    ]
    if let other = entry.other { facts.append(("The other record", Self.link(other.entityType, other.entityUuid))) }
    if let resolved = entry.resolvedAt {
      facts += [
        ("Resolved (UTC)", Self.time(resolved)),
        ("Result", HTML.value((entry.resolution ?? "").replacing("_", with: " "))),
        ("By", HTML.value(entry.resolvedBy ?? "")), ("Note", HTML.value(entry.notes ?? "")),
      ]
    }
    body += HTML.definitions(facts)
    let canDecide = settings.isWritable && entry.resolvedAt == nil
    let settable = Set(entity.fields)
    var rows = [
      Self.versionRow("(changed, UTC)", versions) { Self.time($0["updatedAt"]?.shown) },
      Self.versionRow("(record)", versions) { $0["isDeleted"] == true ? "deleted" : "present" },
    ]
    rows += versions.names.map { name in
      let isOpen = entry.fields.contains(name)
      let differs = versions.remote.map { $0[name] != versions.local[name] } ?? false
      let cells = [versions.base, versions.local, versions.remote].map { version -> HTML in
        "<td\(differs ? " class=\"differs\"" : "" as HTML)>\(HTML.value(version?[name]?.shown ?? ""))</td>"
      }
      let choice: HTML =
        canDecide && settable.contains(name) ? "<td>\(Self.choice(of: name, versions))</td>" : "<td></td>"
      return """
        <tr\(isOpen ? " class=\"decide\"" : "" as HTML)><th scope="row">\(HTML.value(name))\(isOpen ? " (to decide)" : "")</th>\
        \(cells)\(choice)</tr>
        """
    }
    let table = HTML.table("Versions", ["field", "base", "here", "server", "choice"], rows)
    let same: HTML = versions.same > 0 ? "<p class=\"quiet\">\(versions.same) more fields are the same.</p>" : ""
    guard canDecide else { return WebPage("Conflict", body + table + same) }
    let decision: HTML = """
      <input type="hidden" name="id" value="\(entry.conflictId)">\(table)\(same)
      <fieldset><legend>Fields without a choice of their own</legend>
      <label><input type="radio" name="take" value="local" required> take the version here</label>
      <label><input type="radio" name="take" value="remote"> take the version of the server</label></fieldset>
      <p><label>Note<br><textarea name="note" rows="3" cols="40"></textarea></label></p>
      <button>Resolve</button>
      """
    return WebPage("Conflict", body + HTML.form(Link("/conflict/resolve"), token: call.token, decision))
  }

  private static func versionRow(
    _ title: String, _ versions: ConflictVersions, _ text: (SyncObject) -> HTML
  ) -> HTML {
    let cells = [versions.base, versions.local, versions.remote].map { version -> HTML in
      "<td>\(version.map(text) ?? "missing")</td>"
    }
    return "<tr><th scope=\"row\">\(title)</th>\(cells)<td></td></tr>"
  }

  private static func choice(of name: String, _ versions: ConflictVersions) -> HTML {
    """
    <select name="choice.\(name)" aria-label="Choice for \(name)"><option value="">as the rest</option>\
    <option value="local">here</option><option value="remote">server</option><option value="value">another value</option></select>
    <input name="value.\(name)" value="\(versions.local[name]?.shown ?? "")" aria-label="Another value for \(name)">
    """
  }

  /// Resolves a conflict with the choices of the form.
  func resolve(_ form: [String: String]) throws -> Link {
    let take = try required("take", form)
    guard take == "local" || take == "remote" else { throw Problem.badAddress("take") }
    var choices: [String: Vault.ConflictChoice] = [:]
    for (key, choice) in form where key.hasPrefix("choice.") {
      let name = String(key.dropFirst("choice.".count))
      switch choice {
      case "": continue
      case "local": choices[name] = .local
      case "remote": choices[name] = .remote
      case "value": choices[name] = .value(form["value.\(name)"] ?? "")
      default: throw Problem.badAddress(key)
      }
    }
    let note = form["note"].flatMap { $0.isEmpty ? nil : $0 }
    try vault.resolveConflict(
      try required("id", form), takesLocal: take == "local", choices: choices, note: note, user: settings.user)
    return Link("/conflicts").with("done", "resolved")
  }
}
