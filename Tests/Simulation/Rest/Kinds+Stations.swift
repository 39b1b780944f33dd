import CipherSQL
import GeneratedSchemas

extension Kind {
  private static let words: [SQLArgument] = ["a", "b", "c"].map { .text($0) } + [.null]
  private static let amounts: [SQLArgument] = [.real(1.5), .real(20), .real(APIStore.refusedAmount), .null]
  private static let code = Required(column: "code", value: .uniqueText)

  /// Records that devices share with a ``SimulatedAPI``. No user changes a code.
  static let stationKinds: [Kind] = [
    Kind(
      entity: "Station", table: "OfflineStation", key: "stationId", marker: "title",
      others: [("note", words), ("amount", amounts)], references: [], weight: 4, required: [code]),
    Kind(
      entity: "Site Visit", table: "OfflineSiteVisit", key: "visitId", marker: "title",
      others: [("note", words), ("amount", amounts)],
      references: [
        Reference(["stationId"], "Station", isOptional: false),
        Reference(["previousId"], "Site Visit", isOptional: true),
      ], weight: 8, required: [code]),
    Kind(
      entity: "Finding", table: "OfflineFinding", key: "findingId", marker: "title",
      others: [("note", words), ("amount", amounts)],
      references: [
        Reference(["visitId"], "Site Visit", isOptional: false), Reference(["aboutId"], "Station", isOptional: true),
      ], weight: 12, required: [code]),
  ]
}
