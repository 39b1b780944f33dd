import HTTPServer
import ServerStorage
import SyncModel

/// The position of a device's pull, as a text that only the server understands.
struct Cursor: Equatable {
  /// The place from which the device reads on.
  let position: ChangePosition
  /// The number of changes after this cursor that an earlier page has counted; `nil` at the end.
  var remaining: Int?

  private static let version = "1"

  init(_ position: ChangePosition, remaining: Int? = nil) { (self.position, self.remaining) = (position, remaining) }

  /// Parses a device's cursor.
  /// - Throws: ``HTTPProblem`` with 410.
  init(_ text: String) throws(HTTPProblem) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard 4...5 ~= parts.count, parts[0] == Self.version, let sequence = Int64(parts[2]), let floor = Int64(parts[3]),
      sequence >= 0, floor >= 0
    else { throw .unknownCursor }
    position = ChangePosition(epoch: String(parts[1]), sequence: sequence, floor: floor)
    remaining = parts.count == 5 ? Int(parts[4]) : nil
  }

  /// Parses a device's cursor and checks that the server can continue from it.
  /// - Throws: ``HTTPProblem`` with 410.
  init(_ text: String, for data: any RecordReading) throws {
    self = try Cursor(text)
    guard try data.continues(from: position) else { throw HTTPProblem.unknownCursor }
  }

  /// Returns the cursor at another change of the same pull.
  func moved(to sequence: Int64) -> Cursor {
    Cursor(ChangePosition(epoch: position.epoch, sequence: sequence, floor: position.floor))
  }

  var text: String {
    "\(Self.version).\(position.epoch).\(position.sequence).\(position.floor)" + (remaining.map { ".\($0)" } ?? "")
  }
}

extension HTTPProblem {
  static let unknownCursor = HTTPProblem(
    410, "The cursor is unknown", "compare the digests and continue from the cursor that they return",
    type: ServerProblem.cursorUnknown)
}
