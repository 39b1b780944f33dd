import TestSupport
import Testing

@testable import HTTPServer

/// The memory that bodies of requests may take.
@Suite struct BodyMemoryTests {
  @Test("Memory of bodies never goes beyond the limits, in total and for each user, and is all given back")
  func countedMemory() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    func next(_ bound: Int) -> Int { random.number(0..<bound) }
    let memory = BodyMemory(limit: 1_000, userLimit: 300)
    var held: [(user: Int64, bytes: Int)] = []
    for _ in 0..<5_000 {
      let (user, bytes) = (Int64(next(8)), next(200))
      let own = held.filter { $0.user == user }.reduce(0) { $0 + $1.bytes }
      let all = held.reduce(0) { $0 + $1.bytes }
      do throws(BodyMemory.Refusal) {
        try memory.reserve(bytes, for: user)
        #expect(own + bytes <= 300 && all + bytes <= 1_000, "seed \(seed)")
        held.append((user, bytes))
      } catch {
        #expect(error == .user ? own + bytes > 300 : all + bytes > 1_000, "seed \(seed)")
      }
      if next(3) == 0, let last = held.popLast() { memory.release(last.bytes, of: last.user) }
    }
    for (user, bytes) in held { memory.release(bytes, of: user) }
    #expect(memory.total == 0)
  }
}
