import Foundation
import TestSupport
import Testing

@testable import Inspector

/// The reads that go on beside the pages.
@Suite struct ReadTableTests {
  private final class Work: Sendable {}

  @Test("At any order of events, few reads run, few entries are kept, and each ended read is reported once")
  func bounds() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for _ in 0..<200 {
      var table = ReadTable<Int, Work>()
      var running: [ObjectIdentifier: Work] = [:]
      var now = ContinuousClock.now
      func end(_ works: [Work]) {
        // A read with a result may be forgotten as well.
        for work in works { running[ObjectIdentifier(work)] = nil }
      }
      var ids: [Int] = []
      for _ in 0..<100 {
        now += .seconds(Int.random(in: 0...30, using: &random))
        let key = Int.random(in: 0..<7, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: end(table.expire(at: now))
        case 1:
          if let id = ids.randomElement(using: &random), let read = table.remove(id)?.read { end([read]) }
        case 2: if let first = running.keys.first { running[first] = nil }
        default:
          guard table.ask(key, at: now) == nil else { continue }
          let work = Work()
          running[ObjectIdentifier(work)] = work
          let added = table.add(work, for: key, at: now) { running[ObjectIdentifier($0)] != nil }
          end(added.ended)
          ids.append(added.id)
          if case .read(let found, let id) = table.ask(key, at: now) {
            #expect(found === work && id == added.id, "seed \(seed)")
          } else {
            Issue.record("a new read is missing, seed \(seed)")
          }
        }
        #expect(running.count <= 2 && table.reads.count <= 4, "seed \(seed)")
        #expect(running.values.allSatisfy { work in table.reads.contains { $0 === work } }, "seed \(seed)")
      }
      end(table.clear())
      #expect(running.isEmpty && table.isEmpty)
    }
  }

  @Test("An entry is forgotten 120 s after the last request of its page")
  func expiry() {
    var table = ReadTable<Int, Work>()
    let (start, work) = (ContinuousClock.now, Work())
    _ = table.add(work, for: 1, at: start) { _ in true }
    _ = table.ask(1, at: start + .seconds(100))
    #expect(table.expire(at: start + .seconds(219)).isEmpty)
    #expect(table.expire(at: start + .seconds(220)).count == 1)
    #expect(table.isEmpty && table.ask(1, at: start + .seconds(220)) == nil)
  }
}
