import CipherSQL
import SyncModel

/// The server's rules about the fields that a service fills.
struct ServiceCheck {
  let service: SimulatedService
  let server: Connection
  /// Records that a user has decided about, who may take a value of the service.
  let decided: Set<String>
  /// Records that devices may have sent again, so that the server has lost or replaced values of the service.
  let resent: Set<String>

  private struct Row {
    let uuid: String
    let version: Int64
    let edited: Set<String>
    let ofService: Set<String>
    let values: [String: String]
  }

  func check() throws {
    for row in try rows() {
      for name in row.edited.intersection(SimulatedService.serverFields).sorted() {
        throw violation("a service has added \(name) to the fields that users have edited", row)
      }
      for name in SimulatedService.conditionalFields where row.edited.contains(name) && isOfService(name, row) {
        guard !decided.contains(row.uuid) else { continue }
        throw violation("\(name) was edited by a user and has a value of the service", row)
      }
      for name in SimulatedService.serverFields where row.ofService.contains(name) && !isOfService(name, row) {
        throw violation("\(name) belongs to the service and has a value of a device", row)
      }
      // The server may have executed the last push, whose response did not arrive.
      guard !resent.contains(row.uuid), row.uuid != service.unanswered?.entityUuid,
        let written = service.written[row.uuid], written.version <= row.version
      else {
        continue
      }
      for (name, value) in written.fields.sorted(by: { $0.key < $1.key }) where value != .text(row.values[name] ?? "") {
        throw violation("\(name) has not the value that the service wrote last, \(value.json)", row)
      }
    }
  }

  private func isOfService(_ name: String, _ row: Row) -> Bool {
    row.values[name]?.hasPrefix(SimulatedService.prefix) ?? false
  }

  private func violation(_ text: String, _ row: Row) -> Violation {
    Violation(1, ["\(text): \(row.values.sorted { $0.key < $1.key })", "\(SimulatedService.entity) \(row.uuid)"])
  }

  private func rows() throws -> [Row] {
    var rows: [Row] = []
    try server.forEach(
      """
      SELECT scan.uuid, scan.syncVersion, scan.userEditedFields, record.serviceFields, words, confidence, shop, category
      FROM OfflineScan AS scan JOIN ServerRecord AS record ON record.entityType = 'Scan' AND record.entityUuid = scan.uuid
      WHERE scan.isDeleted = 0 ORDER BY scan.uuid
      """
    ) { row in
      var values: [String: String] = [:]
      for (index, name) in (SimulatedService.serverFields + SimulatedService.conditionalFields).enumerated() {
        values[name] = try row.decode(at: Int32(4 + index)) as String?
      }
      rows.append(
        Row(
          uuid: try row.decode(at: 0), version: try row.decode(at: 1), edited: try Self.names(row.decode(at: 2)),
          ofService: try Self.names(row.decode(at: 3)), values: values))
    }
    return rows
  }

  private static func names(_ json: String) throws -> Set<String> {
    guard case .array(let elements) = try SyncValue(parsing: json) else { return [] }
    return Set(
      elements.compactMap { element in
        if case .text(let name) = element { name } else { nil }
      })
  }
}
