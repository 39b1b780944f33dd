import HTTPServer
import Platform
import ServerStorage
import WebPages

/// The pages for operators. Each function responds to one path.
///
/// They show the administration of the server, and never records, files, tokens or hashes of tokens.
struct OperatorPages: Sendable {
  let directory: any OperatorDirectory
  let facts: any ServedFacts

  /// The pages that every page links to.
  static let all: [(title: String, link: Link)] = [
    ("Overview", Link("/")), ("Accounts", Link("/accounts")), ("Figures", Link("/figures")),
    ("Audit log", Link("/audit")),
  ]
  static let paths: Set = ["/", "/accounts", "/account", "/user", "/figures", "/audit"]

  /// The number of rows of a page.
  static let pageSize = 50

  /// Returns the page of a request.
  /// - Throws: a failure of the data.
  func page(_ request: Request) async throws -> WebPage {
    // No name has this character, and PostgreSQL refuses it.
    if request.query.values.contains(where: { $0.utf8.contains(0) }) {
      return WebPage("The address is wrong", status: 400, "<p>It has a character that no name can have.</p>")
    }
    switch request.path {
    case "/accounts": return try await accounts(after: request.query["after"])
    case "/account":
      return try await account(
        request.query["name"] ?? "", usersAfter: request.query["users"].flatMap { Int64($0) },
        devicesAfter: request.query["devices"])
    case "/user":
      return try await user(request.query["name"] ?? "", tokensBefore: request.query["tokens"].flatMap { Int64($0) })
    case "/figures": return await figures(ofDay: request.query["span"] == "day")
    case "/audit": return try await audit(before: request.query["before"].flatMap { Int64($0) })
    default: return try await overview()
    }
  }

  // MARK: Shared parts

  /// The page for a name without an account or a user.
  static func noSuch(_ kind: String) -> WebPage {
    WebPage(
      "No such \(kind)", status: 404,
      "<p>The \(kind) was deleted, or the address is wrong. \(HTML.link(Link("/accounts"), "All accounts"))</p>")
  }

  /// A time in UTC: `2026-11-21 13:50:07`; empty for `nil`.
  /// - Parameter text: ISO 8601 with milliseconds.
  static func time(_ text: String?) -> HTML {
    guard let text else { return "" }
    return "<time datetime=\"\(text)\">\(String(text.prefix(10))) \(String(text.dropFirst(11).prefix(8)))</time>"
  }

  /// - Parameter milliseconds: since 1970-01-01 UTC.
  static func time(_ milliseconds: Int64?) -> HTML { time(milliseconds.map(TimestampText.text)) }

  /// A number that was counted up to ``OperatorSession/countLimit`` and one more.
  static func capped(_ number: Int) -> String {
    let limit = OperatorSession.countLimit
    return number > limit ? countText(limit) + "+" : countText(number)
  }

  /// Links to the first page and to the next one.
  /// - Parameters:
  ///   - name: the name of the list, for screen readers.
  ///   - next: the next page; `nil` on the last one.
  static func pager(_ name: String, first: Link?, next: Link?) -> HTML {
    if first == nil, next == nil { return "" }
    let links = [first.map { HTML.link($0, "First page") }, next.map { HTML.link($0, "Next page") }].compactMap { $0 }
    return "<nav class=\"pages\" aria-label=\"\(name)\">\(links)</nav>"
  }

  /// A table, or a sentence without a row.
  static func table(_ name: String, _ titles: [HTML], _ rows: [HTML], empty: HTML) -> HTML {
    rows.isEmpty ? "<p>\(empty)</p>" : HTML.table(name, titles, rows)
  }

  /// Reads one row more than a page has, which tells whether there is a next page.
  static func page<Row: Sendable>(
    _ read: @escaping @Sendable (_ limit: Int) throws -> [Row]
  ) async throws -> (rows: [Row], hasNext: Bool) {
    let rows = try await offload { try read(pageSize + 1) }
    return (Array(rows.prefix(pageSize)), rows.count > pageSize)
  }
}

extension OperatorPages {
  /// The state of the node at a glance. Every number is a link.
  func overview() async throws -> WebPage {
    let state = await facts.state()
    let directory = directory
    let counts = try await offload {
      try DirectoryRows.allCases.map { try directory.count(of: $0, atMost: OperatorSession.countLimit + 1) }
    }
    let names = ["Accounts", "Users", "Devices"]
    let data = zip(names, counts).map { name, count -> (name: String, value: HTML) in
      (name, HTML.link(Link("/accounts"), "\(Self.capped(count))"))
    }
    let readiness: HTML =
      state.problem.map { "<strong class=\"bad\">no</strong>: \(HTML.value($0))" } ?? "<span class=\"good\">yes</span>"
    var node: [(name: String, value: HTML)] = [
      ("Ready", readiness), ("Version", HTML.value(state.version)), ("Storage", "\(state.engine)"),
      ("Started (UTC)", Self.time(state.startedAt)),
      (
        "Last backup (UTC)", state.lastBackup.map { HTML.link(Link("/audit"), Self.time($0)) } ?? "none by this program"
      ),
    ]
    switch state.usage.resource {
    case .accounts: node.append(("Open accounts", figure(state.usage.open, of: state.usage.limit)))
    case .connections:
      node.append(("Database connections in use", figure(state.usage.used, of: state.usage.limit)))
      node.append(("Transactions that wait for a connection", figure(state.usage.waiting)))
    }
    var queues: [(name: String, value: HTML)] = [
      ("Requests that wait for a change", figure(state.waiting, of: state.waitingLimit))
    ]
    if let calls = state.webhookCalls {
      queues.append(("Accounts that the webhook is not told about yet", figure(calls)))
    }
    return WebPage(
      "Overview",
      HTML.section("This node", HTML.definitions(node)) + HTML.section("Data", HTML.definitions(data))
        + HTML.section("Queues", HTML.definitions(queues))
        + HTML.section("The last hour", recentFigures(bytesName: state.bytesName)))
  }

  private func figure(_ number: Int, of limit: Int? = nil) -> HTML {
    HTML.link(Link("/figures"), "\(countText(number))\(limit.map { " of \(countText($0))" } ?? "")")
  }

  private func recentFigures(bytesName: String) -> HTML {
    let samples = facts.history.groups(60, of: 1)
    guard let last = samples.last else { return "<p>The first figures appear a minute after the start.</p>" }
    func sum(_ value: (FigureSample) -> Int) -> HTML { figure(samples.reduce(0) { $0 + value($1) }) }
    var entries: [(name: String, value: HTML)] = [
      ("Requests", sum(\.requests)), ("Refused requests (4xx)", sum(\.refusedRequests)),
      ("Failed requests (5xx)", sum(\.failedRequests)), ("Accepted operations", sum(\.accepted)),
      ("Operations that were not accepted", sum(\.refused)), ("Failures in the log", sum(\.failures)),
    ]
    if let bytes = last.bytes { entries.append((bytesName, HTML.link(Link("/figures"), "\(byteText(bytes))"))) }
    return HTML.definitions(entries)
  }
}
