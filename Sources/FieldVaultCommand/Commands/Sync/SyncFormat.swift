import Platform
import CommandLineKit
import VaultStore
import SyncEngine
import SyncModel

/// The results of a round, for users and for programs.
enum SyncFormat {
  /// `Sent 3, fetched 12. 1 open conflict: fieldvault conflicts list.`
  /// - Parameter files: the files after a round that sent everything it could; `nil` leaves out files that the round
  ///   did not send.
  static func sentence(about report: SyncReport, _ status: StoreStatus, files: AttachmentUsage? = nil) -> String {
    let merged = report.merged > 0 ? " (\(countText(report.merged)) merged)" : ""
    var done = moved("sent", report.pushed, merged, report.filesSent)
    done += moved("fetched", report.pulled, "", report.filesFetched)
    if report.repaired > 0 { done.append("repaired \(countText(report.repaired)) by comparison") }
    if report.left > 0 { done.append("removed \(countText(report.left)) of unfollowed projects") }
    if report.lost.removed > 0 {
      done.append("removed \(countText(report.lost.removed)) of projects that the user has lost")
    }
    if report.revoked.removed > 0 {
      done.append("removed \(countText(report.revoked.removed)) because the device is revoked")
    }
    var sentences: [String] = []
    if !done.isEmpty { sentences.append(capitalised(done.joined(separator: ", "))) }
    if report.hasCompared, report.repaired == 0 { sentences.append("Compared all records, no differences") }
    if sentences.isEmpty { sentences.append("Nothing new") }
    if status.conflicts > 0 {
      let waits = status.conflicts == 1 ? "1 open conflict" : "\(countText(status.conflicts)) open conflicts"
      sentences.append("\(waits): fieldvault conflicts list")
    }
    if status.failed > 0 { sentences.append("\(operationsText(status.failed)) failed: fieldvault outbox list") }
    let filesFailed = max(report.filesFailed, files?.failed ?? 0)
    if filesFailed > 0 { sentences.append("\(filesText(filesFailed)) failed: fieldvault attach list") }
    if let files, files.waiting > filesFailed {
      let rest = files.waiting - filesFailed
      sentences.append("\(filesText(rest)) will be retried: fieldvault attach list")
    }
    if report.delayed > 0 { sentences.append("\(operationsText(report.delayed)) will be retried later") }
    if files != nil, status.pending - status.parked > report.delayed {
      let rest = status.pending - status.parked - report.delayed
      sentences.append("\(operationsText(rest)) pending: fieldvault outbox list")
    }
    if report.heldBack > 0 {
      sentences.append("\(recordsText(report.heldBack)) of unfollowed projects stay until they are sent")
    }
    sentences += lost(report.lost, "of projects that the user has lost") + lost(report.revoked, "on the revoked device")
    if status.kept > 0 { sentences.append("\(recordsText(status.kept)) from the server cannot be stored yet") }
    return sentences.joined(separator: ". ") + "."
  }

  /// The records that stay, each with the action that lets it leave.
  /// - Parameter place: why or where they stay.
  private static func lost(_ lost: LostRecords, _ place: String) -> [String] {
    var sentences: [String] = []
    for (reason, action) in [
      (KeptReason.unsentChange, "with unsent changes (fieldvault outbox list)"),
      (.conflict, "in conflict (fieldvault conflicts list)"),
      (.unsentFile, "with unsent files (fieldvault attach list)"),
    ] {
      let kept = lost.kept.filter { $0.reason == reason }
      if kept.isEmpty { continue }
      let counts = kept.map { "\(countText($0.count)) \($0.entityType)" }.joined(separator: ", ")
      sentences.append("Records that stay \(place): \(counts) \(action)")
    }
    if !lost.followed.isEmpty {
      sentences.append(
        "The server no longer shows \(lost.followed.joined(separator: ", ")), which this device follows: "
          + "fieldvault config get projects")
    }
    return sentences
  }

  /// `sent 3 (1 merged) and 2 files`
  private static func moved(_ verb: String, _ records: Int, _ note: String, _ files: Int) -> [String] {
    let parts = (records > 0 ? [countText(records) + note] : []) + (files > 0 ? [filesText(files)] : [])
    return parts.isEmpty ? [] : ["\(verb) \(parts.joined(separator: " and "))"]
  }

  private static func capitalised(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }

  /// The commands that continue after a held comparison.
  static let acceptDeletions =
    "check whether the server has lost data; 'fieldvault sync --accept-deletions' deletes the records here"

  static func members(of report: SyncReport, _ status: StoreStatus, _ json: inout JSONWriter) {
    json.member("pushed", report.pushed)
    json.member("merged", report.merged)
    json.member("conflicts", report.conflicts)
    json.member("failed", report.failed)
    json.member("pulled", report.pulled)
    json.member("attachments", report.filesSent + report.filesFetched)
    json.member("repaired", report.repaired)
    json.member("kept", report.kept)
    json.member("delayed", report.delayed)
    json.member("outcome", report.outcome.rawValue)
    json.member("heldDeletions", status.heldDeletions)
    json.member("openConflicts", status.conflicts)
    json.member("failedOperations", status.failed)
    lists(status.lists, &json)
    json.key("lostProjects")
    self.lost(report.lost, &json)
    json.key("revoked")
    self.lost(report.revoked, &json)
  }

  private static func lost(_ lost: LostRecords, _ json: inout JSONWriter) {
    json.beginObject()
    json.member("removed", lost.removed)
    json.key("kept")
    json.beginArray()
    for kept in lost.kept {
      json.beginObject()
      json.member("entityType", kept.entityType)
      json.member("reason", kept.reason.rawValue)
      json.member("count", kept.count)
      json.endObject()
    }
    json.endArray()
    json.key("followed")
    json.beginArray()
    for project in lost.followed { json.value(project) }
    json.endArray()
    json.endObject()
  }

  /// `RifleSetup: a page names a next one on another server`
  static func sentence(about list: FetchedList) -> String {
    "\(list.entityType)\(list.isWhole ? "" : " could not be fetched"): \(escaped(list.problem ?? ""))"
  }

  static func lists(_ lists: [FetchedList], _ json: inout JSONWriter) {
    json.key("lists")
    json.beginArray()
    for list in lists {
      json.beginObject()
      json.member("entityType", list.entityType)
      json.member("complete", list.isWhole)
      json.member("problem", list.problem)
      json.endObject()
    }
    json.endArray()
  }
}
