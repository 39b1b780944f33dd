import HTTPServer
import ServerStorage
import SyncModel

/// The position of a device's pull, as a text that only the server understands.
struct Cursor: Equatable {
  /// The place from which the device reads on.
  let position: ChangePosition
  /// The number of changes after this cursor that an earlier page has counted; `nil` at the end.
  var remaining: Int?
  /// The position among the memberships of a limited user; `nil` for a device that reads all projects.
  var members: MemberPosition?

  private static let version = "1"

  init(_ position: ChangePosition, remaining: Int? = nil, members: MemberPosition? = nil) {
    (self.position, self.remaining, self.members) = (position, remaining, members)
  }

  /// Parses a device's cursor.
  /// - Throws: ``HTTPProblem`` with 410.
  init(_ text: String) throws(HTTPProblem) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard 4...6 ~= parts.count, parts[0] == Self.version, let sequence = Int64(parts[2]), let floor = Int64(parts[3]),
      sequence >= 0, floor >= 0
    else { throw .unknownCursor }
    position = ChangePosition(epoch: String(parts[1]), sequence: sequence, floor: floor)
    remaining = parts.count > 4 ? Int(parts[4]) : nil
    guard parts.count == 6 else { return }
    guard let members = MemberPosition(parts[5]) else { throw .unknownCursor }
    self.members = members
  }

  /// Parses a device's cursor and checks that the server can continue from it.
  /// - Throws: ``HTTPProblem`` with 410.
  init(_ text: String, for data: any RecordReading) throws {
    self = try Cursor(text)
    guard try data.continues(from: position) else { throw HTTPProblem.unknownCursor }
  }

  /// Returns the cursor at another change of the same pull.
  func moved(to sequence: Int64) -> Cursor {
    Cursor(ChangePosition(epoch: position.epoch, sequence: sequence, floor: position.floor), members: members)
  }

  var text: String {
    let rest = members.map { ".\(remaining.map(String.init) ?? "").\($0.text)" } ?? remaining.map { ".\($0)" }
    return "\(Self.version).\(position.epoch).\(position.sequence).\(position.floor)" + (rest ?? "")
  }
}

/// The position of a device among the memberships of its user.
struct MemberPosition: Equatable {
  /// The user for whom the pages were; see ``mark(of:)``.
  let viewer: String
  /// The number of the last change of a membership that the pages of the device have followed.
  var followed: Int64
  /// The older changes of gained projects that the device still has to read; `nil` if there are none.
  var backlog: Backlog?

  /// Changes of gained projects.
  struct Backlog: Equatable {
    /// The projects were gained after this number.
    let since: Int64
    /// The device has read up to this number.
    var after: Int64
    /// The last number to read. The device has the later changes of these projects.
    let until: Int64
  }

  init(viewer: String, followed: Int64, backlog: Backlog? = nil) {
    (self.viewer, self.followed, self.backlog) = (viewer, followed, backlog)
  }

  /// Returns a text that tells users apart, also a user before and after the connection with a record.
  static func mark(of viewer: Viewer) -> String {
    var hash = SHA256()
    hash.add(viewer.holders.joined(separator: ","))
    return String(hash.hexDigest.prefix(16))
  }

  init?(_ text: Substring) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    viewer = parts.first.map(String.init) ?? ""
    let numbers = parts.dropFirst().map { Int64($0) ?? -1 }
    guard [1, 4].contains(numbers.count), numbers.allSatisfy({ $0 >= 0 }) else { return nil }
    followed = numbers[0]
    guard numbers.count == 4 else { return }
    guard numbers[2] <= numbers[3] else { return nil }
    backlog = Backlog(since: numbers[1], after: numbers[2], until: numbers[3])
  }

  var text: String {
    viewer + "-"
      + ([followed] + (backlog.map { [$0.since, $0.after, $0.until] } ?? [])).map(String.init).joined(separator: "-")
  }
}

extension HTTPProblem {
  static let unknownCursor = HTTPProblem(
    410, "The cursor is unknown", "compare the digests and continue from the cursor that they return",
    type: ServerProblem.cursorUnknown)
}
