import Testing

@testable import SyncModel

/// Operations of one record that wait for the server.
@Suite struct CoalescingTests {
  let base = RecordState(fields: ["a": 1, "b": 1], syncVersion: 1, updatedAt: 10)

  func set(_ fields: SyncObject, at time: Int64 = 20) -> RecordPatch { RecordPatch(fields: fields, updatedAt: time) }
  let deletion = RecordPatch(isDeleted: true, updatedAt: 30)

  func queue(_ patches: [RecordPatch], base: RecordState?) -> [SyncOperation] {
    patches.reduce(into: []) { $0 = coalesced($0, adding: $1, base: base) }
  }

  @Test func createAndUpdateAreACreate() {
    let queue = queue([set(["a": 1, "b": 1]), set(["b": 2])], base: nil)
    #expect(queue.map(\.kind) == [.create])
    #expect(queue[0].patch.fields == ["a": 1, "b": 2])
  }

  @Test func twoUpdatesAreAnUpdateOfBothSetsOfFields() {
    let queue = queue([set(["a": 2], at: 20), set(["b": 2], at: 25)], base: base)
    #expect(queue.map(\.kind) == [.update])
    #expect(queue[0].patch.fields == ["a": 2, "b": 2])
    #expect(queue[0].patch.editTime(of: "a") == 20)
    #expect(queue[0].patch.editTime(of: "b") == 25)
  }

  @Test func createAndDeleteAreNothing() {
    #expect(queue([set(["a": 1]), set(["a": 2]), deletion], base: nil).isEmpty)
  }

  @Test func aCreateThatMayHaveBeenSentIsDeletedBehindIt() {
    var queue = queue([set(["a": 1])], base: nil)
    queue[0].isFrozen = true
    queue = coalesced(queue, adding: deletion, base: nil)
    #expect(queue.map(\.kind) == [.create, .delete])
  }

  @Test func anUpdateBackToTheBaseIsNothing() {
    #expect(queue([set(["a": 2]), set(["a": 1])], base: base).isEmpty)
    #expect(queue([set(["a": 2, "b": 2]), set(["a": 1])], base: base).map(\.patch.fields) == [["b": 2]])
    #expect(queue([set(["a": .number(1)])], base: base).isEmpty)
  }

  @Test func aFrozenUpdateIsTheBaseOfWhatComesLater() {
    var queue = queue([set(["a": 2])], base: base)
    queue[0].isFrozen = true
    let back = coalesced(queue, adding: set(["a": 1]), base: base)
    #expect(back.map(\.patch.fields) == [["a": 2], ["a": 1]])
    #expect(coalesced(queue, adding: set(["a": 2]), base: base) == queue)
  }

  @Test func updateAndDeleteAreADeletion() {
    #expect(queue([set(["a": 2]), deletion], base: base).map(\.kind) == [.delete])
  }

  @Test func whatIsBroughtBackBeforeTheDeletionWasSentKeepsItsEdits() {
    let back = RecordPatch(isDeleted: false, updatedAt: 40)
    let queue = queue([set(["a": 2]), deletion, back], base: base)
    #expect(queue.map(\.kind) == [.update])
    #expect(queue.map(\.patch.fields) == [["a": 2]])
    #expect(self.queue([deletion, back], base: base).isEmpty)
  }

  // MARK: Laws

  /// Freezing what waits at random moments, as sending does.
  @Test func applyingWhatWaitsIsApplyingEverythingInOrder() {
    var random = Randomness()
    for round in 0..<1500 {
      var start: RecordState? = random.record()
      start?.isDeleted = false
      if random.chance(40) { start = nil }
      var queue: [SyncOperation] = []
      var truth = start
      for step in 0..<Int.random(in: 1...8, using: &random) {
        var patch = random.patch(after: Int64(20 + step))
        if truth?.isDeleted == true {
          patch.isDeleted = false
        }
        if truth == nil || (truth?.isDeleted == true && queue.isEmpty && start == nil) {
          // The server knows nothing of it: the whole record is new.
          patch = RecordPatch(fields: random.record().fields, updatedAt: Int64(20 + step))
          truth = SyncOperation(kind: .create, patch: patch).applied(to: nil)
        } else {
          truth = truth?.applying(patch)
        }
        let frozen = Array(queue.prefix(while: \.isFrozen))
        queue = coalesced(queue, adding: patch, base: start)
        let ground = frozen.reduce(start) { $1.applied(to: $0) }
        #expect(Array(queue.prefix(frozen.count)) == frozen, "seed \(random.seed), round \(round)")
        if let ground, let last = queue.dropFirst(frozen.count).first {
          #expect(last.patch.reduced(against: ground) == last.patch, "seed \(random.seed), round \(round)")
        }
        if random.chance(25) { queue = queue.map { SyncOperation(kind: $0.kind, patch: $0.patch, isFrozen: true) } }

        let server = queue.reduce(start) { $1.applied(to: $0) }
        let note: Comment = "seed \(random.seed), round \(round), step \(step)"
        if let server, let truth {
          #expect(server.hasContent(of: truth), note)
        } else {
          #expect(server == nil && truth?.isDeleted == true, note)
        }
        #expect(queue.filter { !$0.isFrozen }.count <= 1, note)
        #expect(queue.drop(while: \.isFrozen).allSatisfy { !$0.isFrozen }, note)
        #expect(queue.dropFirst().allSatisfy { $0.kind != .create }, note)
        #expect(queue.allSatisfy { !$0.patch.isEmpty }, note)
      }
    }
  }

  @Test func aPatchLeadsFromOneStateToTheOther() {
    var random = Randomness()
    for _ in 0..<1000 {
      let (old, new) = (random.record(), random.record())
      let patch = RecordPatch(from: old, to: new)
      #expect(old.applying(patch).hasContent(of: new), "seed \(random.seed)")
      #expect(RecordPatch(from: old, to: old).isEmpty)
      #expect(patch.reduced(against: new).isEmpty)
    }
  }

  @Test func twoPatchesInARowAreOne() {
    var random = Randomness()
    for _ in 0..<1000 {
      let state = random.record()
      let (one, two) = (random.patch(), random.patch())
      #expect(
        state.applying(one.followed(by: two)) == state.applying(one).applying(two), "seed \(random.seed)")
    }
  }
}
