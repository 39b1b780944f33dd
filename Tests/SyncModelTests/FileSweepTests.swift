import SyncModel
import TestSupport
import Testing

@Suite struct FileSweepTests {
  private typealias Candidate = FileSweep.Candidate

  private static func candidates(_ random: inout Seeded, at time: Int64) -> [Candidate] {
    (0..<Int.random(in: 0...300, using: &random)).map { number in
      Candidate(
        "file\(number)", FileSweep.Reason.allCases.randomElement(using: &random) ?? .unused,
        since: time - Int64.random(in: -FileSweep.grace...3 * FileSweep.grace, using: &random),
        isConfirmed: Bool.random(using: &random))
    }
  }

  @Test(
    "A sweep removes only confirmed candidates after the grace time, the oldest first, and at most 1 % of the account")
  func removalsAreBounded() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for _ in 0..<500 {
      let time = Int64.random(in: 0...4_000_000_000_000, using: &random)
      let candidates = Self.candidates(&random, at: time)
      let total = candidates.count + Int.random(in: 0...5_000, using: &random)
      let removed = FileSweep.removable(candidates, ofFiles: total, hasMarker: true, at: time)
      #expect(removed.count <= max(1, total / 100), "seed \(seed)")
      #expect(removed.allSatisfy { $0.isConfirmed && time - $0.since >= FileSweep.grace }, "seed \(seed)")
      let oldestKept = candidates.filter { candidate in
        candidate.isConfirmed && time - candidate.since >= FileSweep.grace && !removed.contains(candidate)
      }.map(\.since).min()
      if let oldestKept { #expect(removed.allSatisfy { $0.since <= oldestKept }, "seed \(seed)") }
      #expect(
        FileSweep.removable(candidates.shuffled(using: &random), ofFiles: total, hasMarker: true, at: time) == removed)
      #expect(FileSweep.removable(candidates, ofFiles: total, hasMarker: false, at: time).isEmpty, "seed \(seed)")
    }
  }

  @Test("A file that is away for less than the grace time is never removed, however often sweeps look")
  func filesThatComeBackStay() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for _ in 0..<200 {
      var since: [Int: Int64] = [:]
      var awayUntil: [Int: Int64] = [:]
      var time: Int64 = 0
      for _ in 0..<200 {
        time += Int64.random(in: 1...FileSweep.grace / 4, using: &random)
        for file in 0..<20 where awayUntil[file] == nil && Int.random(in: 0..<10, using: &random) == 0 {
          awayUntil[file] = time + Int64.random(in: 1..<FileSweep.grace, using: &random)
        }
        // A file that came back between two looks was noticed by no sweep, so its mark may be of an earlier absence.
        for file in 0..<20 where awayUntil[file].map({ $0 <= time }) ?? false {
          (awayUntil[file], since[file]) = (nil, nil)
        }
        for file in awayUntil.keys where since[file] == nil { since[file] = time }
        let candidates = since.map {
          Candidate("\($0.key)", .missing, since: $0.value, isConfirmed: awayUntil[$0.key] != nil)
        }
        #expect(FileSweep.removable(candidates, ofFiles: 20, hasMarker: true, at: time).isEmpty, "seed \(seed)")
      }
    }
  }

  @Test(
    "One sweep removes 1 % of an account, and one file of a small one",
    arguments: [(0, 0), (1, 1), (99, 1), (100, 1), (199, 1), (200, 2), (100_000, 1_000)])
  func share(_ total: Int, _ count: Int) { #expect(FileSweep.greatestCount(ofFiles: total) == count) }
}
