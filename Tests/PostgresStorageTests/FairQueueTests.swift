import TestSupport
import Testing

@testable import PostgresStorage

@Suite struct FairQueueTests {
  @Test("lanes take turns, whatever the number of their transactions")
  func turns() {
    var queue = FairQueue<String>(capacity: 10, limit: { _ in 5 })
    for ticket in 1...6 { queue.add(ticket, to: "many") }
    queue.add(7, to: "few")
    var admitted: [Int] = []
    while let ticket = queue.next() { admitted.append(ticket) }
    #expect(admitted == [1, 7, 2, 3, 4, 5], "the sixth waits for the limit of its lane")
    queue.finish("many")
    let last = [queue.next(), queue.next()]
    #expect(last == [6, nil])
  }

  @Test("no more transactions run than there are connections, and each is admitted once", arguments: 0..<50)
  func capacity(_ seed: UInt64) {
    var random = Seeded(seed)
    let limits = ["a": 1, "b": 2, "c": 3]
    var queue = FairQueue<String>(capacity: 4, limit: { limits[$0] ?? 1 })
    var (waiting, running, lanes): (Set<Int>, [Int: String], [Int: String]) = ([], [:], [:])
    var removed: Set<Int> = []
    for ticket in 1...200 {
      let lane = ["a", "b", "c"].randomElement(using: &random) ?? "a"
      (lanes[ticket], _) = (lane, waiting.insert(ticket))
      queue.add(ticket, to: lane)
      if Bool.random(using: &random), let some = waiting.randomElement(using: &random) {
        let wasWaiting = queue.remove(some, from: lanes[some] ?? "")
        #expect(wasWaiting, "seed \(seed)")
        waiting.remove(some)
        removed.insert(some)
      }
      while let next = queue.next() {
        let wasWaiting = waiting.remove(next) != nil
        #expect(wasWaiting && !removed.contains(next), "seed \(seed)")
        running[next] = lanes[next]
      }
      #expect(running.count <= 4, "seed \(seed)")
      for (name, limit) in limits { #expect(running.values.filter { $0 == name }.count <= limit, "seed \(seed)") }
      while Int.random(in: 0..<3, using: &random) > 0, let (done, lane) = running.randomElement(using: &random) {
        running[done] = nil
        queue.finish(lane)
      }
    }
    while !waiting.isEmpty {
      for lane in running.values { queue.finish(lane) }
      running = [:]
      while let next = queue.next() { (running[next], _) = (lanes[next], waiting.remove(next)) }
      #expect(!running.isEmpty, "seed \(seed)")
      if running.isEmpty { break }
    }
  }
}
