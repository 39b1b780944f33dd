import SyncModel
import VaultStore
import WebPages

extension InspectorPages {
  private static let operationLimit = 200

  /// The operations that the server has not acknowledged, in sending order.
  func outbox(_ call: WebCall) throws -> WebPage {
    let isFailed = call.query["status"] == "failed"
    let limit = Self.operationLimit + 1
    let entries = try isFailed ? vault.failedOperations(limit: limit) : vault.firstOperations(limit: limit)
    let notice: String? =
      switch call.query["done"] {
      case "discarded": "The operation was discarded. Its record has the server's version again."
      case "removed": "The operation was discarded, and the record that the server never had was removed."
      default: nil
      }
    var body: HTML =
      isFailed
      ? "<p>\(HTML.link(Link("/outbox"), "All operations"))</p>"
      : "<p>\(HTML.link(Link("/outbox").with("status", "failed"), "Failed operations only"))</p>"
    if entries.count > Self.operationLimit { body += "<p>The first \(Self.operationLimit) are shown.</p>" }
    body += entries.isEmpty ? "<p>No operations.</p>" : Self.table(of: Array(entries.prefix(Self.operationLimit)))
    return WebPage("Outbox", notice: notice, body)
  }

  /// A table of operations.
  static func table(of entries: [OutboxEntry]) -> HTML {
    let rows = entries.map { entry -> HTML in
      let style = entry.status == "failed" ? "bad" : entry.status == "conflict" ? "warn" : ""
      return HTML.row([
        HTML.link(Link("/operation").with("id", entry.operationId), "\(entry.operationType)"),
        link(entry.entityType, entry.entityUuid), "<span class=\"\(style)\">\(status(of: entry))</span>",
        "\(entry.priority)", "\(entry.retryCount)", time(entry.createdAt), HTML.value(entry.errorMessage ?? ""),
      ])
    }
    return HTML.table(
      "Operations", ["operation", "record", "status", "priority", "tries", "queued (UTC)", "error"], rows)
  }

  private static func status(of entry: OutboxEntry) -> String {
    entry.isParked && entry.status == "pending" ? "waits for another operation" : entry.status
  }

  /// One operation: its payload beside the base, and the actions for it.
  func operation(_ call: WebCall) throws -> WebPage {
    let (entry, payload) = try vault.operation(try required("id", call.query))
    let facts: [(name: String, value: HTML)] = [
      ("Record", Self.link(entry.entityType, entry.entityUuid)), ("Status", "\(Self.status(of: entry))"),
      ("Priority", "\(entry.priority)"), ("Tries", "\(entry.retryCount)"), ("Queued (UTC)", Self.time(entry.createdAt)),
      ("Last attempt (UTC)", entry.lastAttemptAt.map { Self.time($0) } ?? "never"),
      ("Next attempt (UTC)", entry.scheduledAt.map { Self.time($0) } ?? "at the next sync"),
      ("Error", HTML.value(entry.errorMessage ?? "none")),
    ]
    var body = HTML.definitions(facts)
    body += HTML.section("Payload", try payload.map { try Self.beside($0) } ?? "<p>No payload.</p>")
    if settings.isWritable, entry.status != "completed" { body += actions(entry, call.token) }
    let notice = call.query["done"] == "retried" ? "The operation is sent again at the next sync." : nil
    return WebPage("Operation \(entry.operationId)", notice: notice, body)
  }

  /// The sent fields beside their values in the base, and the other members of a payload.
  private static func beside(_ payload: String) throws -> HTML {
    guard case .object(let object) = try SyncValue(parsing: payload) else { return json(payload) }
    guard case .object(let fields)? = object["fields"] else { return json(payload) }
    var base = SyncObject()
    if case .object(let members)? = object["base"] { base = members }
    let rows = fields.members.map { member in
      HTML.row([HTML.value(member.name), HTML.value(base[member.name]?.shown ?? ""), HTML.value(member.value.shown)])
    }
    let others = SyncObject(
      object.members.filter { !["fields", "base"].contains($0.name) }.map { ($0.name, $0.value) })
    return HTML.table("Fields", ["field", "base", "sent value"], rows) + json(SyncValue.object(others).json)
  }

  private func actions(_ entry: OutboxEntry, _ token: String) -> HTML {
    let id: HTML = "<input type=\"hidden\" name=\"id\" value=\"\(entry.operationId)\">"
    var forms: HTML = ""
    if entry.status == "failed" {
      forms += HTML.form(Link("/outbox/retry"), token: token, "\(id)<button>Send again</button>")
    }
    forms += HTML.form(
      Link("/outbox/discard"), token: token,
      """
      \(id)<p>Discarding gives the record the version that the server has. A record that the server never had is removed.</p>
      <button>Discard</button>
      """)
    return HTML.section("Actions", forms)
  }
}
