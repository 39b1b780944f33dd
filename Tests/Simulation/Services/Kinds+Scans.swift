import CipherSQL

extension Kind {
  private static let words: [SQLArgument] = ["a", "b", "c"].map { .text($0) }

  /// Records whose fields ``SimulatedService`` fills.
  static let scanKinds: [Kind] = [
    Kind(
      entity: "Binder", key: "binderId", marker: "title", others: [("note", words)], references: [], weight: 4,
      required: []),
    Kind(
      entity: "Scan", key: "scanId", marker: "title",
      others: [("words", words), ("shop", words), ("category", words), ("shop", words)],
      references: [Reference(column: "binderId", entity: "Binder", isOptional: true)], weight: 16, required: []),
  ]
}
