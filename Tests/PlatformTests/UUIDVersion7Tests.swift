import Foundation
import Testing

@testable import Platform

/// RFC 9562, section 5.7.
@Suite struct UUIDVersion7Tests {
  @Test("A version 7 UUID holds the time in milliseconds, the version and the variant") func layout() {
    let before = UInt64(Date().timeIntervalSince1970 * 1000)
    let uuid = UUID.version7().uuid
    let after = UInt64(Date().timeIntervalSince1970 * 1000)
    let bytes = [uuid.0, uuid.1, uuid.2, uuid.3, uuid.4, uuid.5]
    let time = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    // Values made just before in this process may have carried the counter into the time by a little.
    #expect(time >= before && time <= after + 100, "48 bits of Unix time in milliseconds")
    #expect(uuid.6 >> 4 == 7, "version")
    #expect(uuid.8 >> 6 == 0b10, "variant")
  }

  @Test("Values ascend within a thread and are unique across threads")
  func valuesAscendWithinAThreadAndAreUniqueAcrossThreads() {
    let all = Locked<[UUID]>([])
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      let own = (0..<5000).map { _ in UUID.version7() }
      let texts = own.map { UUIDText.text($0) }
      #expect(zip(texts, texts.dropFirst()).allSatisfy { $0 < $1 })
      all.withLock { $0 += own }
    }
    let made = all.withLock { $0 }
    #expect(made.count == 40_000)
    #expect(Set(made).count == 40_000)
  }

  @Test("A source takes time and bits from its clock and its random source, and counts within a millisecond")
  func injected() {
    let clock = Clock(now: { 0x0123_4567_89AB }, instant: { ContinuousClock.now }, sleepUntil: { _ in })
    let zeros = RandomSource { $0.initializeMemory(as: UInt8.self, repeating: 0) }
    let source = UUIDSource(clock: clock, random: zeros)
    #expect(
      (0..<3).map { _ in UUIDText.text(source.next()) } == [
        "01234567-89ab-7000-8000-000000000000", "01234567-89ab-7001-8000-000000000000",
        "01234567-89ab-7002-8000-000000000000",
      ])
  }
}
