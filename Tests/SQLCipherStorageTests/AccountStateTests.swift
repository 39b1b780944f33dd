import SyncModel
import TestSupport
import Testing

@testable import ServerStorage

/// The changes of a transaction before they are written.
@Suite struct AccountStateTests {
  private static let uuids = (0..<6).map { "00000000-0000-7000-8000-00000000000\($0)" }
  private static let words = ["a", "b", "c"]

  /// Everything that a state tells, as text in one order.
  private func description(_ state: AccountState) -> [String] {
    let changes = state.changes
    var lines = [
      "\(state.header)", "\(state.jobs)", "\(String(describing: changes.header)) \(changes.epochStartedAt ?? -1)",
    ]
    lines += state.digests.filter { $0.value != DigestSum() }.map { "\($0.key) \($0.value.summary)" }.sorted()
    lines += changes.records.map { "\($0.key) \(line($0.value.old)) \(line($0.value.new))" }.sorted()
    lines += changes.lastServerIds.map { "\($0)" }.sorted()
    lines += changes.responses.map { "\($0.key) \($0.value)" }.sorted()
    lines += changes.marks.map { "\($0.key) \($0.value)" }.sorted()
    lines += changes.tombstones.map { "\($0.key) \(String(describing: $0.value))" }.sorted()
    lines += changes.jobs.map { "\($0.key) \(String(describing: $0.value))" }.sorted()
    for word in Self.words {
      lines.append("\(String(describing: state.holder(UniqueValue(entityType: "Room", key: "title", value: word))))")
      let value = ReferenceValue(entityType: "Room", reference: "projectId", target: word)
      lines.append("\(state.dependents(value).sorted { $0.key < $1.key })")
    }
    return lines
  }

  private func line(_ row: RecordRow?) -> String {
    guard let row else { return "none" }
    let (unique, references) = (
      row.keys.unique.sorted { $0.key < $1.key }, row.keys.references.sorted { $0.key < $1.key }
    )
    return "\(row.digest) \(unique) \(row.keys.released.sorted()) \(references)"
  }

  @Test(
    "A part that fails leaves nothing behind, and one that succeeds has the effect of its changes without a part",
    arguments: [1, UInt64.random(in: 0...9_999_999)])
  func undo(seed: UInt64) throws {
    print("AccountStateTests undo: seed \(seed)")
    var generator = Seeded(seed)
    func random(_ count: Int) -> Int { generator.number(0..<count) }
    let header = AccountHeader(lastSequence: 1, horizon: 0, forgottenVersion: 0, epochs: ["e"], epochStart: 0)
    // The second state has the kept changes alone.
    var (state, expected) = (
      AccountState(header: header, jobs: []), AccountState(header: header, jobs: [])
    )
    var rows: [String: RecordRow] = [:]

    /// Draws a change, which does the same to each state.
    func change() -> (inout AccountState) -> Void {
      let (uuid, word, time) = (Self.uuids[random(6)], Self.words[random(3)], Int64(random(1_000)))
      let name = RecordName("Room", uuid)
      switch random(9) {
      case 0...2:
        let new = random(5) == 0 ? nil : row(name, word, isReleased: random(4) == 0, isDeleted: random(4) == 0, time)
        let old = rows[uuid]
        rows[uuid] = new
        return { $0.set(new, of: name, over: old) }
      case 3: return { $0.changeHeader { $0.lastSequence += 1 } }
      case 4: return { $0.keep(StoredResponse(result: word, digest: nil), to: uuid, at: time) }
      case 5: return { $0.setTombstone(time % 2 == 0 ? nil : time, of: name) }
      case 6: return { $0.addJob(.cascade, name, at: time) }
      case 7: return { state in state.jobs.last.map { state.setJob($0.number, nil) } }
      default:
        return { state in
          state.setServerId(time, of: word)
          if time % 4 == 0 { state.startEpoch(word, at: time) }
        }
      }
    }

    func part(_ depth: Int) {
      let (before, rowsBefore) = (expected, rows)
      let begun = state.beginPart()
      for _ in 0..<random(6) {
        let change = change()
        change(&state)
        change(&expected)
        if depth < 3, random(3) == 0 { part(depth + 1) }
      }
      if random(2) == 0 {
        state.keep(begun)
      } else {
        state.undo(begun)
        (expected, rows) = (before, rowsBefore)
      }
    }

    for step in 0..<200 {
      part(0)
      #expect(description(state) == description(expected), "seed \(seed), step \(step)")
      #expect(!state.isInPart)
    }
  }

  private func row(_ name: RecordName, _ word: String, isReleased: Bool, isDeleted: Bool, _ time: Int64) -> RecordRow {
    let record = ServerRecord(
      name: name, serverId: 1, sequence: time, createdAt: 1,
      state: RecordState(fields: [:], isDeleted: isDeleted, syncVersion: 1, updatedAt: time), fieldVersions: [:],
      firstVersion: 1)
    let digest = String(repeating: String(time % 10), count: 64)
    return RecordRow(
      record: record, digest: digest, storedAt: time,
      keys: RecordKeys(unique: ["title": word], released: isReleased ? ["title"] : [], references: ["projectId": word]))
  }
}
