import Testing

@testable import SyncEngine

/// The times at which files are transferred.
@Suite struct FileScheduleTests {
  @Test("Files are transferred after a signal, and again when the next one is due")
  func due() {
    var schedule = FileSchedule()
    #expect(schedule.handle(.started, now: 0) == .wait(until: nil))
    #expect(schedule.handle(.signalled, now: 0) == .transfer)
    #expect(schedule.handle(.ended(nextDue: 3000), now: 1000) == .wait(until: 3000))
    #expect(schedule.handle(.signalled, now: 3000) == .transfer)
    #expect(schedule.handle(.ended(nextDue: nil), now: 4000) == .wait(until: nil))
  }

  @Test("A refusal keeps a time that is still to come, and forgets one that has passed")
  func refusals() {
    var schedule = FileSchedule()
    _ = schedule.handle(.ended(nextDue: 3000), now: 0)
    #expect(schedule.handle(.refused, now: 2999) == .wait(until: 3000))
    #expect(schedule.handle(.refused, now: 3000) == .wait(until: nil))
  }
}
