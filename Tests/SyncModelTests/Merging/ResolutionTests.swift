import Testing

@testable import SyncModel

/// Resolving a conflict: the record, and the changes for the server.
@Suite struct ResolutionTests {
  let base = RecordState(fields: ["a": 1, "b": 1, "c": 1, "path": "/x"], syncVersion: 1, updatedAt: 1000)
  let rules = MergeRules(
    policy: .manual, fields: ["path": FieldRule(isLocalOnly: true), "c": FieldRule(ownership: .userEdited)])

  func conflict() throws -> Conflict {
    var remote = base.applying(RecordPatch(fields: ["a": 3, "c": 3], updatedAt: 3000))
    remote.syncVersion = 5
    remote.fields["path"] = nil
    let local = base.applying(RecordPatch(fields: ["a": 2, "b": 2, "c": 2], updatedAt: 2000))
    let result = merge(base: base, local: local, remote: remote, rules: rules, clock: MergeClock(serverNow: 9000))
    return try #require(result.conflict)
  }

  @Test("A resolution may choose the remote value or a new one for each field") func localRemoteAndAnOwnValue() throws {
    let conflict = try conflict()
    #expect(conflict.fields == ["a", "c"])
    let resolution = try conflict.resolved(choosing: ["a": .remote, "c": .value(7)], rules: rules, at: 4000)
    #expect(resolution.state.fields == ["a": 3, "b": 2, "c": 7, "path": "/x"])
    #expect(resolution.state.syncVersion == 5)
    #expect(resolution.patch.fields == ["b": 2, "c": 7])
    #expect(resolution.patch.userEditedFields == ["c"])
    #expect(resolution.patch.updatedAt == 4000)
    #expect(resolution.patch.editTime(of: "b") == 2000)
  }

  @Test("A resolution may choose one side for all fields") func aWholeSide() throws {
    #expect(try conflict().resolved(choosing: .local, rules: rules, at: 4000).patch.fields == ["a": 2, "b": 2, "c": 2])
    #expect(try conflict().resolved(choosing: .remote, rules: rules, at: 4000).patch.fields == ["b": 2])
  }

  @Test("A resolved record merges again without a conflict") func aResolvedRecordMergesWithoutDispute() throws {
    let conflict = try conflict()
    let resolution = try conflict.resolved(choosing: .local, rules: rules, at: 4000)
    let again = merge(
      base: conflict.remote, local: resolution.state, remote: conflict.remote, rules: rules,
      clock: MergeClock(serverNow: 9000))
    #expect(again.kind == nil)
    #expect(again.patchToPush.fields == resolution.patch.fields)
  }

  @Test("An undecided field and an unknown field are refused") func whatIsOpenMustBeChosen() throws {
    let conflict = try conflict()
    let open = #expect(throws: SyncModelError.self) {
      try conflict.resolved(choosing: ["a": .local], rules: rules, at: 1)
    }
    #expect(open?.code == .undecided)
    let unknown = #expect(throws: SyncModelError.self) {
      try conflict.resolved(choosing: ["a": .local, "c": .local, "x": .value(1)], rules: rules, at: 1)
    }
    #expect(unknown?.code == .noSuchField)
  }

  @Test("A resolution decides between an edit and a deletion") func aDeletionIsChosenLikeAField() throws {
    var remote = base.applying(RecordPatch(isDeleted: true, updatedAt: 3000))
    remote.syncVersion = 5
    let local = base.applying(RecordPatch(fields: ["a": 2], updatedAt: 2000))
    let result = merge(base: base, local: local, remote: remote, rules: rules, clock: MergeClock(serverNow: 9000))
    let conflict = try #require(result.conflict)
    #expect(throws: SyncModelError.self) { try conflict.resolved(choosing: [:], rules: rules, at: 4000) }
    let kept = try conflict.resolved(choosing: [:], deletion: .local, rules: rules, at: 4000)
    #expect(kept.patch.isDeleted == false)
    #expect(kept.patch.fields == ["a": 2])
    let gone = try conflict.resolved(choosing: .remote, rules: rules, at: 4000)
    #expect(gone.state.isDeleted)
    #expect(gone.patch.isDeleted == nil)
  }
}
