import CommandLineKit
import VaultStore
import SyncModel

/// The comparison of a conflict's versions for the user: base, local and remote.
struct ConflictComparison {
  private let entry: ConflictEntry
  private let versions: ConflictVersions
  private var base: SyncObject? { versions.base }
  private var local: SyncObject { versions.local }
  private var remote: SyncObject? { versions.remote }
  private var names: [String] { versions.names }
  private var same: Int { versions.same }

  /// - Parameter order: the fields of the record, in the order of its table.
  init(_ entry: ConflictEntry, order: [String]) throws {
    (self.entry, versions) = (entry, try ConflictVersions(entry, order: order))
  }

  func show(_ context: CommandContext) throws {
    let terminal = context.output.terminal
    try context.output.line(terminal.styled("\(entry.entityType) \(entry.entityUuid)", .bold))
    try context.output.line(ConflictVersions.explanation(of: entry.conflictType))
    if let other = entry.other {
      try context.output.line("The other record: \(escaped(other.entityType)) \(escaped(other.entityUuid))")
    }
    if let resolved = entry.resolvedAt {
      let outcome = (entry.resolution ?? "").replacing("_", with: " ")
      try context.output.line(
        "Resolved \(RelativeTime.ago(resolved))\(entry.resolvedBy.map { " by \(escaped($0))" } ?? ""): \(outcome)"
          + (entry.notes.map { "; \(escaped($0))" } ?? ""))
    } else {
      try context.output.line("Found \(RelativeTime.ago(entry.detectedAt))")
    }
    try context.output.write("\n" + table.text(for: terminal) { isToDecide($0) ? .yellow : nil })
    if same > 0 {
      try context.output.line(same == 1 ? "1 more field is the same." : "\(same) more fields are the same.")
    }
    guard entry.resolvedAt == nil else { return }
    context.hint("To decide the fields marked !: fieldvault conflicts resolve \(entry.conflictId) --take local|remote")
    if names.count > 1 { context.hint("Single fields: --set FIELD=local|remote, or another value: --set FIELD==VALUE") }
  }

  /// Rows 0 and 1 contain the time of the change and the deletion.
  private func isToDecide(_ row: Int) -> Bool {
    row >= heading.count && entry.fields.contains(names[row - heading.count])
  }

  private var heading: [[String]] {
    func row(_ title: String, _ text: (SyncObject) -> String) -> [String] {
      ["", title, base.map(text) ?? "", text(local), remote.map(text) ?? ""]
    }
    var rows = [row("(changed)") { RelativeTime.short($0["updatedAt"]?.cell ?? "") }]
    if [base, local, remote].contains(where: { $0?["isDeleted"] == true }) || remote == nil {
      rows.append(["", "(record)", Self.standing(base), Self.standing(local), Self.standing(remote)])
    }
    return rows
  }

  private var table: TextTable {
    // Side by side and not cut, because the difference may be after the cut.
    var table = TextTable(
      ["", "field", "base", "here", "server"], alignments: [nil, .left, .left, .left, .left])
    table.keepsForm = true
    for row in heading { table.add(row) }
    for name in names {
      let differs = remote.map { $0[name] != local[name] } ?? false
      let mark = entry.fields.contains(name) ? "!" : differs ? "*" : ""
      table.add([mark, name] + Self.cells([base, local, remote].map { $0?[name] }))
    }
    return table
  }

  /// The values as cells. If two values differ but would look equal, all are written so that the difference shows: with
  /// quotes, null as a word, and every character beyond ASCII escaped.
  static func cells(_ values: [SyncValue?]) -> [String] {
    let plain = values.map { escaped($0?.cell ?? "") }
    let looks = plain.map { appearance($0) }
    let isAmbiguous = values.indices.contains { one in
      values.indices.contains { one < $0 && values[one] != values[$0] && looks[one] == looks[$0] }
    }
    guard isAmbiguous else { return plain }
    return values.map { value in
      switch value {
      case nil: ""
      case .text(let text)?: "\"" + asciiEscaped(text) + "\""
      case let value?: asciiEscaped(value.json)
      }
    }
  }

  private static func standing(_ version: SyncObject?) -> String {
    guard let version else { return "missing" }
    return version["isDeleted"] == true ? "deleted" : "present"
  }
}
