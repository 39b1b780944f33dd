/// A merge at work. Times of both sides are by one clock.
struct Merger {
  let base: RecordState?
  let local: RecordState
  let remote: RecordState
  let rules: MergeRules
  let writers: MergeWriters
  /// The columns that leave the device, of all sides, ordered.
  let names: [String]

  var fields = SyncObject()
  var times: [String: Int64] = [:]
  var isDeleted = false
  var openFields: [String] = []
  var kind: ConflictKind?
  var isDeletionOpen = false
  var lost: [OverwrittenValue] = []
  var fieldsToCompute: [String] = []

  init(base: RecordState?, local: RecordState, remote: RecordState, rules: MergeRules, writers: MergeWriters) {
    self.base = base
    self.local = local
    self.remote = remote
    self.rules = rules
    self.writers = writers
    let all = (base?.fields ?? [:]).overlaid(with: local.fields).overlaid(with: remote.fields)
    names = all.names.filter { !rules[$0].isLocalOnly }
  }

  func fieldMerge(_ name: String) -> FieldMerge? {
    FieldMerge(
      base: base?.fields[name], local: local.fields[name], remote: remote.fields[name],
      mergesAsSet: rules[name].mergesAsSet)
  }

  mutating func take(_ field: FieldMerge, as name: String) {
    fields[name] = field.value
    times[name] =
      switch field.origin {
      case .local: local.editTime(of: name)
      case .remote, .neither: remote.editTime(of: name)
      case .both: max(local.editTime(of: name), remote.editTime(of: name))
      }
  }

  // MARK: Fields

  mutating func mergeFields() {
    for name in names where !rules[name].isComputed {
      guard var field = fieldMerge(name) else { continue }
      if field.isDisputed {
        kind = kind ?? .concurrentEdit
        decide(&field, name)
      }
      take(field, as: name)
    }
  }

  private mutating func decide(_ field: inout FieldMerge, _ name: String) {
    guard let localValue = local.fields[name], let remoteValue = remote.fields[name] else { return }
    switch winner(of: name, localValue, remoteValue) {
    case .local:
      if isPersonal(name, of: .remote) { report(name, .remote, remoteValue) }
    case .remote:
      field.value = remoteValue
      field.origin = .remote
      if isPersonal(name, of: .local) { report(name, .local, localValue) }
    case nil:
      openFields.append(name)
    }
  }

  /// Returns the side whose value a disputed field takes; `nil` if the user has to decide.
  private func winner(of name: String, _ localValue: SyncValue, _ remoteValue: SyncValue) -> MergeSide? {
    switch rules.policy {
    case .serverWins: return .remote
    case .clientWins: return .local
    case .lastWriteWins: return later(name, localValue, remoteValue)
    case .manual, .merge:
      // A deletion by both sides is not a dispute.
      if local.isDeleted && remote.isDeleted { return later(name, localValue, remoteValue) }
      guard rules.policy == .merge else { return nil }
      return writers.winner(of: name, rules[name].ownership, listed: local.userEditedFields.contains(name))
    }
  }

  /// Returns the side that wrote later. At the same millisecond it is the side whose value has the greater canonical
  /// text, so that every side decides equally.
  private func later(_ name: String, _ localValue: SyncValue, _ remoteValue: SyncValue) -> MergeSide {
    let localTime = local.editTime(of: name)
    let remoteTime = remote.editTime(of: name)
    if localTime != remoteTime { return localTime > remoteTime ? .local : .remote }
    return UTF16Order.compare(localValue.canonicalJSON, remoteValue.canonicalJSON) == .after ? .local : .remote
  }

  /// Whether the value that a side has for a field is one that a user entered.
  func isPersonal(_ name: String, of side: MergeSide) -> Bool {
    let isOfService = side == .local ? writers.isLocalService : writers.serviceFields.contains(name)
    return !isOfService && rules.isPersonal(name, in: state(of: side))
  }

  mutating func report(_ field: String, _ side: MergeSide, _ value: SyncValue) {
    if lost.contains(where: { $0.field == field && $0.side == side }) { return }
    lost.append(OverwrittenValue(field: field, side: side, value: value))
  }
}
