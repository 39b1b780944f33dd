import Platform
import TestSupport
import Testing

@testable import ServerStorage

@Suite struct ChangeWaitersTests {
  private let account = AccountName(name: "water", folder: "1")
  private let waiters = AccountWaiters(.system, isTold: true)

  /// An account whose changes from the second on are of the project "elm", and the looks at it.
  private struct Account {
    var last: Int64 = 1
    var looks: [String: Int] = [:]
  }

  private let data = Locked(Account())

  private func wait(
    _ name: String, _ projects: Set<String>? = nil, after sequence: Int64 = 1, epoch: String = "e", seconds: Int = 60
  ) async throws -> WaitResult {
    let request = ChangeRequest(
      after: ChangePosition(epoch: epoch, sequence: sequence, floor: 0), projects: projects, device: name,
      seconds: seconds)
    return try await waiters.waitForChange(of: account, request) { query in
      data.withLock { data in
        data.looks[name, default: 0] += 1
        guard query.request.position.epoch == "e" else { return nil }
        let hasChange = data.last > query.seen && (projects == nil || projects?.contains("elm") == true)
        return ChangeLook(hasChange: hasChange, epoch: "e", last: data.last)
      }
    }
  }

  /// Returns when so many requests wait.
  private func waiting(_ count: Int) async throws {
    try await eventually("\(count) wait") { waiters.waiters(of: account).waitingCount == count }
  }

  @Test("a change ends the waits that it concerns without another look, and a timeout looks once more")
  func concerned() async throws {
    async let all = wait("all")
    async let elm = wait("elm", ["elm", "ash"])
    async let oak = wait("oak", ["oak"], seconds: 2)
    async let author = wait("author", seconds: 2)
    try await waiting(4)
    let before = data.withLock { $0.looks }
    data.withLock { $0.last = 5 }
    waiters.tell(CommittedChanges(5...5, projects: ["elm"], author: "author"), folder: account.folder)
    #expect(try await all == .changed)
    #expect(try await elm == .changed)
    #expect(data.withLock { $0.looks } == before)
    #expect(try await oak == .unchanged(until: 5))
    #expect(try await author == .changed)
    #expect(data.withLock { $0.looks["oak"] } == (before["oak"] ?? 0) + 1)
  }

  @Test("a request after one of the last changes looks only if a change may not have been told")
  func end() async throws {
    #expect(try await wait("first", seconds: 1) == .unchanged(until: 1))
    #expect(try await wait("second", seconds: 1) == .unchanged(until: 1))
    #expect(data.withLock { $0.looks } == ["first": 1])
    #expect(try await wait("other epoch", epoch: "d") == .unknownPosition)
    #expect(try await wait("behind", after: 0) == .changed)
    data.withLock { $0.last = 2 }
    waiters.tell(CommittedChanges(2...2), folder: account.folder)
    #expect(try await wait("told", after: 1) == .changed)
    #expect(try await wait("told", after: 2, seconds: 1) == .unchanged(until: 2))
    data.withLock { $0.last = 3 }
    waiters.tell(CommittedChanges(3...3, projects: ["elm"]), folder: account.folder)
    #expect(try await wait("told", ["elm"], after: 2) == .changed)
    #expect(try await wait("told", ["oak"], after: 2, seconds: 1) == .unchanged(until: 2))
    waiters.setTold(false)
    #expect(try await wait("untold", after: 3, seconds: 1) == .unchanged(until: 3))
    #expect(try await wait("untold", after: 3, seconds: 1) == .unchanged(until: 3))
    #expect(
      data.withLock { $0.looks } == ["first": 1, "other epoch": 1, "behind": 1, "untold": 2])
  }

  @Test("a change that is told after a later one ends the waits that it concerns")
  func lateChange() async throws {
    #expect(try await wait("first", seconds: 1) == .unchanged(until: 1))
    waiters.tell(CommittedChanges(3...3, projects: ["oak"]), folder: account.folder)
    data.withLock { $0.last = 3 }
    async let waiting = wait("elm", ["elm"])
    try await self.waiting(1)
    waiters.tell(CommittedChanges(2...2, projects: ["elm"]), folder: account.folder)
    #expect(try await waiting == .changed)
    for number in 4...200 {
      data.withLock { $0.last = Int64(number) }
      waiters.tell(CommittedChanges(Int64(number)...Int64(number), projects: ["oak"]), folder: account.folder)
    }
    // Too long ago for the changes that are kept.
    #expect(try await wait("elm", ["elm"], after: 1) == .changed)
    #expect(data.withLock { $0.looks } == ["first": 1, "elm": 1])
  }

  @Test("a change that a request knows, or that came before, does not end its wait; a missed change does")
  func known() async throws {
    data.withLock { $0.last = 4 }
    async let result = wait("device", after: 4)
    try await waiting(1)
    waiters.tell(CommittedChanges(4...4), folder: account.folder)
    try await Task.sleep(for: .milliseconds(100))
    #expect(waiters.waiters(of: account).waitingCount == 1)
    data.withLock { $0.last = 5 }
    waiters.letLook(folder: account.folder)
    #expect(try await result == .changed)
  }

  @Test("changes were told if notifications with all of their numbers came")
  func toldNumbers() async throws {
    #expect(try await wait("first", seconds: 1) == .unchanged(until: 1))
    func hasTold(_ numbers: ClosedRange<Int64>) -> Bool { waiters.hasTold(numbers, folder: account.folder) }
    #expect(!hasTold(2...2))
    waiters.tell(CommittedChanges(2...4, projects: ["elm"], author: "first"), folder: account.folder)
    waiters.tell(CommittedChanges(7...7, projects: ["elm"]), folder: account.folder)
    #expect(hasTold(2...4) && hasTold(3...3) && hasTold(7...7))
    #expect(!hasTold(2...5) && !hasTold(4...7) && !hasTold(7...8) && !hasTold(1...2))
    waiters.tell(CommittedChanges(5...6, author: "second"), folder: account.folder)
    #expect(hasTold(2...7))
    waiters.letLook(folder: account.folder)
    #expect(!hasTold(2...7))
    #expect(waiters.hasTold(1...9, folder: "without requests"))
  }

  @Test("requests that are told together end within a second, but not at once")
  func spread() async throws {
    let ends = Locked<[ContinuousClock.Instant]>([])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 1...400 {
        group.addTask {
          let result = try await wait("\(number)")
          #expect(result == .changed)
          ends.withLock { $0.append(.now) }
        }
      }
      try await waiting(400)
      let start = ContinuousClock.now
      waiters.tell(CommittedChanges(2...2), folder: account.folder)
      try await group.waitForAll()
      let times = ends.withLock { $0 }.map { start.duration(to: $0) }.sorted()
      let (median, last) = (times[200], try #require(times.last))
      #expect(median > .milliseconds(50) && last < .seconds(10), "median \(median), last \(last)")
    }
  }

  @Test("a cancelled request, and one whose time is over, ends")
  func ends() async throws {
    let cancelled = Task { try await wait("cancelled") }
    async let short = wait("short", seconds: 1)
    async let long = wait("long", seconds: 2)
    try await waiting(3)
    cancelled.cancel()
    #expect(try await cancelled.value == .unchanged(until: 1))
    #expect(try await short == .unchanged(until: 1))
    #expect(waiters.waiters(of: account).waitingCount == 1)
    #expect(try await long == .unchanged(until: 1))
    async let closed = wait("closed")
    try await waiting(1)
    waiters.close()
    #expect(try await closed == .unchanged(until: 1))
  }

  @Test("the devices that changes concern")
  func scopes() {
    func request(_ projects: Set<String>?, _ device: String? = nil) -> ChangeRequest {
      ChangeRequest(
        after: ChangePosition(epoch: "e", sequence: 1, floor: 0), projects: projects, device: device, seconds: 1)
    }
    var changes = CommittedChanges(3...3, projects: ["elm"], author: "a")
    #expect(changes.concern(request(["elm"]), seen: 1) && changes.concern(request(nil), seen: 1))
    #expect(!changes.concern(request(["oak"]), seen: 1) && !changes.concern(request(nil), seen: 3))
    #expect(!changes.concern(request(nil, "a"), seen: 1) && changes.concern(request(nil, "b"), seen: 1))
    changes.formUnion(CommittedChanges(2...2, projects: ["oak"], author: "a"))
    #expect(changes == CommittedChanges(2...3, projects: ["elm", "oak"], author: "a"))
    changes.formUnion(CommittedChanges(4...4, projects: ["oak"], author: "b"))
    #expect(changes == CommittedChanges(2...4, projects: ["elm", "oak"]))
    changes.formUnion(CommittedChanges(5...5))
    #expect(changes.concern(request(["ash"]), seen: 4))
    changes.formUnion(CommittedChanges(7...8, projects: ["elm"]))
    #expect(changes.concern(request(["ash"], "a"), seen: 4) && changes.numbers == 7...8)
    changes.formUnion(CommittedChanges(3...3))
    #expect(changes.numbers == 7...8)
  }
}
