/// Merges two versions of a record, field by field, with what both started from.
///
/// Device and server run this same function. A field that one side alone changed takes that change, whatever the
/// policy. The policy decides about fields that both changed differently, and about an edit against a deletion. Sets
/// merge as sets. Under ``ConflictPolicy/merge`` only what a person entered stands against a deletion.
///
/// - Parameters:
///   - base: what both sides started from; nil when that is not known, and then every difference is a dispute.
///   - local: the version of the side that pushes, or that applies what it pulled.
///   - remote: the server's version.
///   - rules: the entity's policy and columns.
///   - clock: brings the local times to the server's clock.
///   - writers: who wrote the two sides.
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
