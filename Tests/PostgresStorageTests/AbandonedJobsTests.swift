import ServerStorage
import Testing

@testable import PostgresStorage

@Suite struct AbandonedJobsTests {
  private let water = AccountName(name: "water", folder: "1")
  private let fire = AccountName(name: "fire", folder: "2")

  private func place(_ number: Int64, after: String? = nil) -> AbandonedJobs.Place {
    AbandonedJobs.Place(number: number, reference: 0, after: after)
  }

  @Test("jobs are abandoned if no transaction has moved them since the look before")
  func looks() {
    var jobs = AbandonedJobs()
    #expect(jobs.look(at: [water: place(1), fire: place(1)]) == [])
    #expect(jobs.look(at: [water: place(1, after: "a"), fire: place(1)]) == [fire])
    #expect(jobs.look(at: [water: place(1, after: "b"), fire: place(2)]) == [])
    #expect(jobs.look(at: [:]) == [])
    #expect(jobs.look(at: [water: place(1, after: "b")]) == [], "the look before saw none")
    #expect(jobs.look(at: [water: place(1, after: "b")]) == [water])
  }
}
