import HTTPServer
import ServerStorage
import SyncModel

/// The position of a device's pull, as a text that only the server understands.
struct Cursor: Equatable {
  /// The epoch of the cursor.
  let epoch: String
  /// The number of the last change that the device has seen.
  let sequence: Int64
  /// The number of the last change when the device began to pull from nothing. The device received no earlier
  /// deletions. It does not need them, because it does not have these records.
  let floor: Int64
  /// The number of changes after this cursor that an earlier page has counted; `nil` at the end.
  var remaining: Int?

  private static let version = "1"

  init(epoch: String, sequence: Int64, floor: Int64, remaining: Int? = nil) {
    self.epoch = epoch
    self.sequence = sequence
    self.floor = floor
    self.remaining = remaining
  }

  /// Parses a device's cursor and checks that the server can continue from it.
  /// - Throws: ``HTTPProblem`` with 410.
  init(_ text: String, for data: any RecordReading) throws {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard 4...5 ~= parts.count, parts[0] == Self.version, let sequence = Int64(parts[2]), let floor = Int64(parts[3]),
      sequence >= 0, floor >= 0, try parts[1] == data.epochs.current
    else { throw Self.unknown }
    // A cursor beyond the end belongs to data that were replaced without a new epoch.
    guard try sequence <= data.lastSequence, try max(sequence, floor) >= data.horizon else { throw Self.unknown }
    self.init(
      epoch: String(parts[1]), sequence: sequence, floor: floor, remaining: parts.count == 5 ? Int(parts[4]) : nil)
  }

  var text: String {
    "\(Self.version).\(epoch).\(sequence).\(floor)" + (remaining.map { ".\($0)" } ?? "")
  }

  private static let unknown = HTTPProblem(
    410, "The cursor is unknown", "compare the digests and continue from the cursor that they return",
    type: ServerProblem.cursorUnknown)
}
