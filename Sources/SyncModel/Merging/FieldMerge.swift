/// The merge of one field.
struct FieldMerge {
  enum Origin { case neither, local, remote, both }

  /// The merged value. In an open dispute, the local value.
  var value: SyncValue
  /// The sides that changed the field to that value.
  var origin: Origin
  /// Whether both sides changed the field to different values that cannot be merged.
  var isDisputed: Bool

  /// Merges the three values of a field. A side that lacks the field has not changed it.
  ///
  /// Returns `nil` if no side has the field.
  init?(base: SyncValue?, local: SyncValue?, remote: SyncValue?, mergesAsSet: Bool) {
    guard let localValue = local ?? base ?? remote, let remoteValue = remote ?? base ?? local else { return nil }
    let isLocalChanged = local != nil && local != base
    let isRemoteChanged = remote != nil && remote != base
    switch (isLocalChanged, isRemoteChanged) {
    case (false, false): (value, origin, isDisputed) = (remoteValue, .neither, false)
    case (true, false): (value, origin, isDisputed) = (localValue, .local, false)
    case (false, true): (value, origin, isDisputed) = (remoteValue, .remote, false)
    case (true, true) where localValue == remoteValue: (value, origin, isDisputed) = (remoteValue, .both, false)
    case (true, true):
      (value, origin, isDisputed) = (localValue, .local, true)
      if mergesAsSet, let set = SetMerge(base: base, local: localValue, remote: remoteValue) {
        isDisputed = false
        switch set.isChanged {
        case (true, false): break
        case (false, true): (value, origin) = (remoteValue, .remote)
        case (true, true): (value, origin) = (set.merged, .both)
        case (false, false):
          // Only spelled differently: one spelling for all.
          let isRemoteGreater = UTF16Order.compare(localValue.canonicalJSON, remoteValue.canonicalJSON) == .before
          (value, origin) = (isRemoteGreater ? remoteValue : localValue, .both)
        }
      }
    }
  }
}
