import CipherSQL
import GeneratedSchemas

extension Kind {
  private static let words: [SQLArgument] = ["a", "b", "c"].map { .text($0) }

  /// Records whose fields ``SimulatedService`` fills.
  static let scanKinds: [Kind] = [
    Kind(
      entity: "Binder", table: "OfflineBinder", key: "binderId", marker: "title", others: [("note", words)],
      references: [], weight: 4,
      required: []),
    Kind(
      entity: "Scan", table: "OfflineScan", key: "scanId", marker: "title",
      others: [("words", words), ("shop", words), ("category", words), ("shop", words)],
      references: [Reference(["binderId"], "Binder", isOptional: true)], weight: 16, required: []),
  ]
}
