import Platform
import SyncModel
import VaultStore
import WebPages

extension InspectorPages {
  /// The check of the vault: its step while it runs, and the findings of the last one.
  func doctor(_ call: WebCall) throws -> WebPage {
    let state = checks.state
    if let step = state.step {
      return progressPage(
        "Doctor", HTML.value(step), at: Link("/doctor"), isStill: call.query["still"] != nil,
        cancel: HTML.form(Link("/doctor/cancel"), token: call.token, "<button>Cancel</button>"), try result())
    }
    var body: HTML = ""
    if let problem = state.problem { body += "<p class=\"warn\">\(HTML.value(problem))</p>" }
    body += HTML.form(
      Link("/doctor/start"), token: call.token,
      """
      <p>Checks the keyring, every page of the database, its tables, indexes and references, the state of sync, and the files.
      Changes nothing but the stored result.</p><button>Check now</button>
      """)
    return WebPage("Doctor", try body + result())
  }

  private func result() throws -> HTML {
    guard let last = try checks.last() else { return "" }
    let (diagnosis, endedAt) = (last.diagnosis, last.endedAt)
    let time = Self.time(WireTime.text(endedAt))
    let rows = diagnosis.findings.map { finding -> HTML in
      let style = finding.severity == .damage ? "bad" : finding.severity == .warning ? "warn" : ""
      return HTML.row([
        "<span class=\"\(style)\">\(finding.severity.rawValue)</span>", "\(finding.check)", HTML.value(finding.what),
        HTML.value(finding.meaning), HTML.value(settings.hint(finding.next)),
      ])
    }
    let checked = (diagnosis.checked.map { ("checked", $0) } + diagnosis.unchecked.map { ("not checked", $0) }).map {
      entry in
      "<li>\(entry.0): \(HTML.value(entry.1))</li>" as HTML
    }
    let findings: HTML =
      rows.isEmpty
      ? "<p class=\"good\">No problems found.</p>"
      : HTML.table("Findings", ["severity", "check", "finding", "meaning", "next step"], rows)
    return HTML.section("Result of \(WireTime.text(endedAt))", "<p>Ended \(time) UTC</p>\(findings)<ul>\(checked)</ul>")
  }

  /// The last result as a link, for the overview.
  func doctorLink() throws -> HTML {
    if checks.state.step != nil { return HTML.link(Link("/doctor"), "being checked") }
    guard let last = try checks.last() else { return HTML.link(Link("/doctor"), "not checked yet") }
    let time = Self.time(WireTime.text(last.endedAt))
    let text: HTML =
      last.diagnosis.isOK
      ? "<span class=\"good\">no problems found</span>"
      : "<span class=\"bad\">\(counted(last.diagnosis.findings.count, "finding"))</span>"
    return HTML.link(Link("/doctor"), "\(text) on \(time) UTC")
  }
}
