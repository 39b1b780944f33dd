import Platform
import ServerStorage
import TestSupport
import Testing

@Suite struct ChangeWaitersTests {
  private let account = AccountName(name: "water", folder: "1")

  @Test("a change looks only for the requests that it concerns, and a timeout looks once more")
  func concerned() async throws {
    let waiters = AccountWaiters(clock: .system)
    let looks = Locked<[String: Int]>([:])
    let last = Locked<Int64>(1)
    func wait(_ name: String, _ projects: Set<String>?, _ seconds: Int) async throws -> WaitResult {
      try await waiters.waitForChange(of: account, after: 1, projects: projects, seconds: seconds) { sequence in
        looks.withLock { $0[name, default: 0] += 1 }
        let last = last.withLock { $0 }
        return (last > sequence && (projects == nil || projects?.contains("elm") == true), last)
      }
    }
    async let all = wait("all", nil, 60)
    async let elm = wait("elm", ["elm", "ash"], 60)
    async let oak = wait("oak", ["oak"], 2)
    try await eventually("all wait") { looks.withLock { $0.count == 3 } }
    try await Task.sleep(for: .milliseconds(200))
    last.withLock { $0 = 5 }
    waiters.signal(folder: account.folder, ChangeScope(["elm"]))
    #expect(try await all == .changed)
    #expect(try await elm == .changed)
    #expect(looks.withLock { $0 } == ["all": 2, "elm": 2, "oak": 1])
    #expect(try await oak == .unchanged(until: 5))
    #expect(looks.withLock { $0["oak"] } == 2)
  }

  @Test("a change of a record without a project concerns every device")
  func scopes() {
    var scope = ChangeScope(["elm"])
    #expect(scope.concerns(["elm"]) && scope.concerns(nil) && !scope.concerns(["oak"]))
    scope.formUnion(ChangeScope(["oak"]))
    #expect(scope == ChangeScope(["elm", "oak"]))
    scope.formUnion(ChangeScope())
    #expect(scope.concerns(["ash"]))
    scope.formUnion(ChangeScope(["elm"]))
    #expect(scope.concerns(["ash"]))
  }
}
