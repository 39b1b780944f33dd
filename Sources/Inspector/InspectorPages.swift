import CipherSQL
import Platform
import SyncModel
import VaultStore
import WebPages

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The pages of a vault. Each function responds to one path.
struct InspectorPages: Sendable {
  let vault: Vault
  let settings: Inspector.Settings
  let checks: DoctorRun
  let reads: BackgroundReads

  init(_ vault: Vault, _ settings: Inspector.Settings) {
    (self.vault, self.settings, checks) = (vault, settings, DoctorRun(vault, settings.schemas))
    reads = BackgroundReads(vault.environment.clock, patience: settings.patience)
  }

  /// Ends the work beside the pages, and closes the vault.
  func close() {
    reads.close()
    checks.cancel()
    vault.close()
  }

  /// The pages that every page links to.
  static let all: [(title: String, link: Link)] = [
    ("Overview", Link("/")), ("Records", Link("/records")), ("Search", Link("/search")), ("Outbox", Link("/outbox")),
    ("Conflicts", Link("/conflicts")), ("Sync rounds", Link("/rounds")), ("Photos and files", Link("/files")),
    ("Storage", Link("/storage")), ("Keys", Link("/keys")), ("Doctor", Link("/doctor")),
  ]

  /// The greatest number of rows that are counted for a number on a page. More are shown as `10,000+`.
  static let countLimit = 10_000

  /// A page that the request cannot have, for a reason that its reader can act on.
  struct Problem: Error {
    let title: String
    let status: Int
    let text: String

    static let noPage = Problem(title: "There is no such page", status: 404, text: "The links above lead to all pages.")
    static let readOnly = Problem(
      title: "The inspector is read-only", status: 403,
      text: "Nothing was changed. Start the inspector so that it may change the vault.")
    /// A parameter of the address is missing or has no meaning.
    static func badAddress(_ name: String) -> Problem {
      Problem(
        title: "The address is incomplete", status: 400, text: "Its part '\(name)' is missing or has an invalid value.")
    }
  }

  /// The page for a request that was under way when the inspector locked itself.
  static let closed = WebPage("Locked", status: 403, "<p>The vault was closed. Start the inspector again.</p>")

  /// The forms that a read-only inspector has. A check changes nothing but its stored result.
  private static let harmless: Set = ["/doctor/start", "/doctor/cancel", "/records/cancel"]

  func response(to call: WebCall) async -> WebResponse {
    do {
      guard Files.exists(vault.databasePath) else {
        throw Problem(
          title: "The vault is not there any more", status: 410,
          text: "Its database was moved, deleted or encrypted under a new key. Start the inspector again.")
      }
      guard let form = call.form else {
        return call.path == "/records" ? try await records(call) : try await offload { try page(call) }
      }
      guard settings.isWritable || Self.harmless.contains(call.path) else { throw Problem.readOnly }
      return .redirect(try await offload { try change(call.path, form) })
    } catch let problem as Problem {
      return .page(WebPage(problem.title, status: problem.status, "<p>\(problem.text)</p>"))
    } catch let error as VaultError {
      return .page(WebPage(Self.title(of: error), status: Self.status(of: error), explanation(of: error)))
    } catch {
      return .page(
        WebPage("The page cannot be shown", status: 500, "<p>\(HTML.value("\(error)"))</p><p>Nothing was changed.</p>"))
    }
  }

  private func page(_ call: WebCall) throws -> WebResponse {
    switch call.path {
    case "/": .page(try overview())
    case "/record": .page(try record(call))
    case "/search": .page(try search(call))
    case "/outbox": .page(try outbox(call))
    case "/operation": .page(try operation(call))
    case "/conflicts": .page(try conflicts(call))
    case "/conflict": .page(try conflict(call))
    case "/rounds": .page(try rounds())
    case "/files": .page(try files(call))
    case "/file": try file(call)
    case "/storage": .page(try storage())
    case "/keys": .page(try keys())
    case "/doctor": .page(try doctor(call))
    default: throw Problem.noPage
    }
  }

  /// Performs the change of a form, and returns the page that shows its result.
  private func change(_ path: String, _ form: [String: String]) throws -> Link {
    switch path {
    case "/outbox/retry":
      let id = try required("id", form)
      try vault.retry([id])
      return Link("/operation").with("id", id).with("done", "retried")
    case "/outbox/discard":
      let removed = try vault.discard([try required("id", form)])
      return Link("/outbox").with("done", removed > 0 ? "removed" : "discarded")
    case "/conflict/resolve": return try resolve(form)
    case "/records/cancel": return try cancelRecords(form)
    case "/doctor/start":
      checks.start()
      return Link("/doctor")
    case "/doctor/cancel":
      checks.cancel()
      return Link("/doctor")
    default: throw Problem.noPage
    }
  }

  func required(_ name: String, _ parameters: [String: String]) throws -> String {
    guard let value = parameters[name], !value.isEmpty else { throw Problem.badAddress(name) }
    return value
  }

  /// Returns the entity and the UUID of a record in an address.
  func identity(_ call: WebCall) throws -> (entity: Entity, uuid: UUID) {
    let entity = try vault.entities.entity(try required("entity", call.query))
    guard let uuid = UUID(sqlText: try required("uuid", call.query)) else { throw Problem.badAddress("uuid") }
    return (entity, uuid)
  }

  // MARK: Errors

  private static func title(of error: VaultError) -> String {
    switch error.code {
    case .noSuchRecord, .noSuchEntity, .noSuchField: "Not found"
    case .busy: "The vault is busy"
    case .badValue, .refused, .ambiguous: "This is not possible"
    case .notHere: "The file is not on this device"
    case .damaged: "The content is damaged"
    default: "The page cannot be shown"
    }
  }

  private static func status(of error: VaultError) -> Int {
    switch error.code {
    case .noSuchRecord, .noSuchEntity, .noSuchField, .notHere: 404
    case .busy: 503
    case .badValue, .refused, .ambiguous: 422
    default: 500
    }
  }

  private func explanation(of error: VaultError) -> HTML {
    let hint: HTML = error.remedy.map { "<p>\(HTML.value(settings.hint($0)))</p>" } ?? ""
    return "<p>\(HTML.value(error.message))</p>\(hint)<p>Nothing was changed.</p>"
  }

  // MARK: Shared parts

  /// The seconds after which the page of running work loads itself again.
  static let refreshSeconds = 2

  /// The page of work that goes on: its progress, a form that ends it, and the rest of the page.
  /// - Parameters:
  ///   - link: the address of the page.
  ///   - cancel: the form that ends the work.
  func progressPage(
    _ title: String, _ progress: HTML, at link: Link, isStill: Bool, cancel: HTML, _ rest: HTML = ""
  ) -> WebPage {
    let still = link.with("still", "1")
    let toggle =
      isStill
      ? HTML.link(link, "Refresh every \(Self.refreshSeconds) seconds") : HTML.link(still, "Stop refreshing")
    var page = WebPage(
      title,
      "<p role=\"status\">\(progress)</p><p>\(HTML.link(isStill ? still : link, "Refresh")), \(toggle)</p>\(cancel)\(rest)"
    )
    page.refreshSeconds = isStill ? nil : Self.refreshSeconds
    return page
  }

  /// A link to a record, by the beginning of its id.
  static func link(_ type: String, _ uuid: String) -> HTML {
    HTML.link(Link("/record").with("entity", type).with("uuid", uuid), "\(HTML.value(type)) \(HTML.value(uuid))")
  }

  /// A time of the database in UTC: `2026-11-21 13:50:07`. Every other text is shown unchanged.
  static func time(_ text: String?) -> HTML {
    guard let text else { return "" }
    guard text.utf8.count == TimestampText.length, WireTime.milliseconds(text) != nil else { return HTML.value(text) }
    return "<time datetime=\"\(text)\">\(text.prefix(10)) \(text.dropFirst(11).prefix(8))</time>"
  }

  /// A number that was counted up to a limit.
  static func capped(_ number: Int) -> String {
    number > countLimit ? countText(countLimit) + "+" : countText(number)
  }

  /// JSON with one member on each line.
  static func json(_ text: String) -> HTML {
    guard case .object(let object)? = try? SyncValue(parsing: text) else { return "<pre>\(HTML.value(text))</pre>" }
    let rows = object.members.map { member in
      HTML.row([HTML.value(member.name), HTML.value(member.value.shown)])
    }
    return HTML.table("Members", ["member", "value"], rows)
  }
}

extension SyncValue {
  /// The value as text for a reader; empty for null.
  var shown: String {
    switch self {
    case .null: ""
    case .text(let text): text
    default: json
    }
  }
}

extension HTML.Interpolation {
  mutating func appendInterpolation(_ text: Substring) { appendInterpolation(String(text)) }
}
