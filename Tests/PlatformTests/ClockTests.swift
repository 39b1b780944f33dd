import Foundation
import Testing

@testable import Platform

@Suite struct ClockTests {
  @Test("The system's clock agrees with Foundation, and its instants ascend")
  func system() async throws {
    let before = Date().timeIntervalSince1970 * 1000
    let now = Clock.system.now()
    #expect(Double(now) >= before - 1 && Double(now) <= Date().timeIntervalSince1970 * 1000)
    let start = Clock.system.instant()
    try await Clock.system.sleep(.milliseconds(5))
    #expect(Clock.system.instant() - start >= .milliseconds(5))
  }
}
