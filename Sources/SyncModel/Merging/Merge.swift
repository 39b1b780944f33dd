/// Merges two versions of a record by field, with their common version.
///
/// Device and server run this same function. A field that only one side changed takes that side's value under every
/// policy. The policy decides fields that both sides changed to different values, and an edit against a deletion. Sets
/// merge as sets. Under ``ConflictPolicy/merge``, only values that a user entered can prevent a deletion.
///
/// - Parameters:
///   - base: the common version; `nil` if it is unknown. Then every difference is a dispute.
///   - local: the version of the side that pushes, or that applies a pulled version.
///   - remote: the server's version.
///   - rules: the entity's policy and columns.
///   - clock: converts local times to the server's clock.
///   - writers: the authors of the two versions.
public func merge(
  base: RecordState?, local: RecordState, remote: RecordState, rules: MergeRules, clock: MergeClock,
  writers: MergeWriters = .devices
) -> MergeResult {
  var merger = Merger(
    base: base, local: clock.corrected(local: local), remote: clock.corrected(remote: remote), rules: rules,
    writers: writers)
  merger.mergeDeletion()
  merger.mergeFields()
  merger.mergeComputedFields()
  merger.keepLocalOnlyFields()
  return merger.result()
}
