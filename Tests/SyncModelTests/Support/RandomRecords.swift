@testable import SyncModel

/// Three versions of a record that went apart, and the rules that bring them together.
struct Situation {
  var base: RecordState?
  var local: RecordState
  var remote: RecordState
  var rules: MergeRules

  static let clock = MergeClock(serverNow: 1_000_000)

  func merged() -> MergeResult {
    merge(base: base, local: local, remote: remote, rules: rules, clock: Self.clock)
  }
}

extension Randomness {
  /// Column names: few, so that edits meet, one of them beyond ASCII.
  static let columns = ["a", "b", "c", "tags", "keys", "computed", "path", "é"]

  /// A value from a small choice, so that both sides often choose the same, or the base's.
  mutating func fieldValue(_ name: String) -> SyncValue {
    if name == "tags" || name == "keys", !hasOddSets || chance(0.9) {
      if chance(0.1) { return .null }
      return .array((0..<Int.random(in: 0...4, using: &self)).map { _ in pick([1, 2, 3, "x", .number(2.5)]) })
    }
    return pick([.null, true, 1, 2, .number(1), .number(2.5), "x", "é", "e\u{301}", ["k": 1]])
  }

  /// Rules of any kind; of columns that are computed or stay on the device only when asked for.
  mutating func rules(policy: ConflictPolicy, special: Bool = true) -> MergeRules {
    var rules = MergeRules(policy: policy, fields: ["tags": FieldRule(mergesAsSet: true)])
    for name in Self.columns {
      if chance(0.6) { rules.fields[name, default: FieldRule()].ownership = pick([.server, .user, .userEdited]) }
    }
    rules.fields["keys", default: FieldRule()].mergesAsSet = true
    if special {
      rules.fields["computed", default: FieldRule()].isComputed = true
      rules.fields["path", default: FieldRule()].isLocalOnly = true
    }
    return rules
  }

  mutating func record() -> RecordState {
    RecordState(
      fields: SyncObject(Self.columns.map { ($0, fieldValue($0)) }), isDeleted: chance(0.1),
      syncVersion: Int64.random(in: 0...9, using: &self), updatedAt: Int64.random(in: 0...20, using: &self),
      userEditedFields: Set(Self.columns.filter { _ in chance(0.2) }))
  }

  /// A change of some columns at some time, few enough that ties happen.
  mutating func patch(isDeletionAllowed: Bool = true, after time: Int64 = 20) -> RecordPatch {
    let names = Self.columns.filter { _ in chance(0.4) }
    let updatedAt = time + Int64.random(in: 1...6, using: &self)
    var times: [String: Int64] = [:]
    for name in names where chance(0.3) { times[name] = updatedAt - Int64.random(in: 0...5, using: &self) }
    return RecordPatch(
      fields: SyncObject(names.map { ($0, fieldValue($0)) }),
      isDeleted: isDeletionAllowed && chance(0.2) ? true : nil,
      userEditedFields: chance(0.4) ? Set(Self.columns.filter { _ in chance(0.4) }) : nil, updatedAt: updatedAt,
      editTimes: times)
  }

  /// A record after a change by a person or a machine; a field that is marked as edited stays marked.
  mutating func edited(_ record: RecordState, after time: Int64 = 20) -> RecordState {
    var patch = patch(after: time)
    patch.userEditedFields?.formUnion(record.userEditedFields)
    return record.applying(patch)
  }

  /// Two versions with one base, or without a base.
  mutating func situation(policy: ConflictPolicy, special: Bool = true) -> Situation {
    let base = record()
    var remote = edited(base)
    remote.syncVersion += 1
    return Situation(
      base: chance(0.9) ? base : nil, local: edited(base), remote: remote,
      rules: rules(policy: policy, special: special))
  }
}

extension RecordState: CustomStringConvertible {
  /// The description in a failing test.
  public var description: String {
    "\(SyncValue.object(fields).json) deleted=\(isDeleted) v\(syncVersion) @\(updatedAt) \(editTimes.sorted { $0 < $1 })"
      + " edited=\(userEditedFields.sorted())"
  }
}

extension Situation: CustomStringConvertible {
  var description: String {
    "base \(base.map { "\($0)" } ?? "none")\nlocal \(local)\nremote \(remote)\nrules \(rules)"
  }
}
