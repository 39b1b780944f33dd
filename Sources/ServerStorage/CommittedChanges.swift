/// What a commit tells the devices that wait for changes of its account.
public struct CommittedChanges: Equatable, Sendable {
  /// The numbers of the changes. Changes that were committed apart have those that follow the last gap.
  public private(set) var numbers: ClosedRange<Int64>
  /// The projects of the changed records, and the holders of changed memberships; `nil` if the changes concern all devices, as
  /// changes of a record without a project do.
  public private(set) var projects: Set<String>?
  /// The device that made all changes; `nil` for several or no device.
  public private(set) var author: String?

  /// Whether the changes begin an epoch, which concerns all devices.
  public private(set) var isNewEpoch = false

  /// The number of the last change.
  public var last: Int64 { numbers.upperBound }

  /// Describes the beginning of an epoch.
  package init(epochAt last: Int64) { (numbers, isNewEpoch) = (last...last, true) }

  /// Describes changes.
  public init(_ numbers: ClosedRange<Int64>, projects: Set<String>? = nil, author: String? = nil) {
    (self.numbers, self.projects, self.author) = (numbers, projects, author)
  }

  /// Adds other changes.
  package mutating func formUnion(_ other: CommittedChanges) {
    numbers = numbers.joined(with: other.numbers) ?? (last > other.last ? numbers : other.numbers)
    projects = projects.flatMap { own in other.projects.map { own.union($0) } }
    author = author == other.author ? author : nil
    isNewEpoch = isNewEpoch || other.isNewEpoch
  }

  /// Returns both changes.
  package func union(_ other: CommittedChanges?) -> CommittedChanges {
    var both = self
    if let other { both.formUnion(other) }
    return both
  }

  /// Whether a request learns something new. A device knows its own changes.
  /// - Parameter seen: the number of the last change that the request knows.
  package func concern(_ request: ChangeRequest, seen: Int64) -> Bool {
    guard last > seen, author == nil || author != request.device else { return false }
    guard let projects, let followed = request.projects else { return true }
    return !projects.isDisjoint(with: followed)
  }
}

extension ClosedRange<Int64> {
  /// Returns the range of both ranges; `nil` if there is a gap between them.
  func joined(with other: ClosedRange<Int64>) -> ClosedRange<Int64>? {
    guard other.lowerBound - 1 <= upperBound, lowerBound - 1 <= other.upperBound else { return nil }
    return Swift.min(lowerBound, other.lowerBound)...Swift.max(upperBound, other.upperBound)
  }
}

/// The place up to which a device has read the changes of an account.
public struct ChangePosition: Equatable, Sendable {
  /// The epoch of the data.
  public let epoch: String
  /// The number of the last change that the device has seen.
  public let sequence: Int64
  /// The number of the last change when the device began to read from nothing. The device received no earlier
  /// deletions. It does not need them, because it does not have these records.
  public let floor: Int64

  /// Creates a position.
  public init(epoch: String, sequence: Int64, floor: Int64) {
    (self.epoch, self.sequence, self.floor) = (epoch, sequence, floor)
  }
}

extension RecordReading {
  /// Whether a device can go on from a position: it belongs to these data, and no deletion after it is forgotten. A position
  /// beyond the end belongs to data that were replaced without a new epoch.
  public func continues(from position: ChangePosition) throws -> Bool {
    try position.epoch == epochs.current && position.sequence <= lastSequence
      && max(position.sequence, position.floor) >= horizon
  }
}

/// A request that waits for changes.
public struct ChangeRequest: Equatable, Sendable {
  /// The place from which the device reads on.
  public let position: ChangePosition
  /// The projects whose records count, with records that have no project; `nil` for all.
  public let projects: Set<String>?
  /// The device, whose own changes do not end the wait; `nil` if it is unknown.
  public let device: String?
  /// The longest time to wait in seconds.
  public let seconds: Int

  /// Creates a request.
  public init(after position: ChangePosition, projects: Set<String>?, device: String? = nil, seconds: Int) {
    (self.position, self.projects, self.device, self.seconds) = (position, projects, device, seconds)
  }
}

/// The end of a wait for changes.
public enum WaitResult: Equatable, Sendable {
  /// There is a change.
  case changed
  /// There is none up to this number of the sequence.
  case unchanged(until: Int64)
  /// The account's data do not go on from the position of the request.
  case unknownPosition
}
