import CipherSQL
import HTTPServer
import Platform
import VaultStore
import WebPages

extension InspectorPages {
  /// The size of the parts in which a file is made, in bytes.
  private static let partBytes = 32 << 10

  /// The selected records as CSV (RFC 4180), in the order in which they were added on this device.
  ///
  /// The file is made while it is sent. An order without an index would need all records in memory, so it is ignored.
  func csv(_ view: RecordsView) async throws -> WebResponse {
    // Mistakes in the address are told by a page, and not by the end of a file.
    _ = try await vault.database.read { try RecordReader($0).additions(view.entity, view.request) }
    return try file(type: "text/csv; charset=utf-8", "\(view.entity.type).csv") { [vault] pipe in
      try await vault.database.read { connection in
        var text = view.shown.map { CSVText.cell($0.name) }.joined(separator: ",") + "\r\n"
        let places = view.places
        try RecordReader(connection).forEachAdded(view.entity, view.request) { row in
          var cells: [String] = []
          for (column, place) in zip(view.shown, places) {
            let value = try row.decode(SQLArgument.self, at: place)
            cells.append(CSVText.cell(FieldCell.text(value, of: column) ?? ""))
          }
          text += cells.joined(separator: ",") + "\r\n"
          guard text.utf8.count >= Self.partBytes else { return }
          try pipe.write(Array(text.utf8))
          text = ""
        }
        try pipe.write(Array(text.utf8))
      }
    }
  }

  /// A file that is made while it is sent; at most one at a time.
  private func file(
    type: String, _ name: String, _ produce: @escaping @Sendable (BodyPipe) async throws -> Void
  ) throws -> WebResponse {
    guard let pipe = reads.file(produce) else {
      throw Problem(
        title: "Another file is being made", status: 503,
        text: "The page makes one file at a time. Wait until the browser has saved it, or cancel it there.")
    }
    return .file(type: type, pipe, fileName: name)
  }
}
