import Foundation
import Platform
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage

/// Accounts are opened when they are needed, and closed when others were used since.
@Suite struct AccountCacheTests {
  private final class Store: Sendable {
    let name: String
    init(_ name: String) { self.name = name }
  }

  private struct Unreadable: Error {}

  private static func cache(
    limit: Int, _ open: @escaping @Sendable (AccountName) throws -> Store
  ) -> AccountCache<Store> {
    AccountCache(limit: limit, clock: .system, close: { _ in true }, open: open)
  }

  private static func account(_ number: Int) -> AccountName {
    AccountName(name: "\(number)", folder: String(format: "%032x", number))
  }

  @Test("Requests that come at once open an account once")
  func opensOnce() async throws {
    let count = Locked(0)
    let cache = Self.cache(limit: 2) { account in
      count.withLock { $0 += 1 }
      Thread.sleep(forTimeInterval: 0.05)
      return Store(account.name)
    }
    let stores = try await withThrowingTaskGroup(of: Store.self) { group in
      for _ in 0..<20 { group.addTask { try await cache.store(of: Self.account(1)) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(count.withLock { $0 } == 1)
    #expect(stores.count == 20 && stores.allSatisfy { $0 === stores[0] })
  }

  @Test("An account that is being opened does not block another one", .timeLimit(.minutes(1)))
  func blocksNoOther() async throws {
    let gate = DispatchSemaphore(value: 0)
    let cache = Self.cache(limit: 4) { account in
      if account.name == "1" { gate.wait() }
      return Store(account.name)
    }
    async let slow = (0..<20).asyncMap { _ in try await cache.store(of: Self.account(1)).name }
    #expect(try await cache.store(of: Self.account(2)).name == "2")
    gate.signal()
    #expect(try await slow == Array(repeating: "1", count: 20))
  }

  @Test("A failure to open an account is the answer to all requests that wait for it, and is not kept")
  func failures() async throws {
    let fails = Locked(true)
    let cache = Self.cache(limit: 4) { account in
      Thread.sleep(forTimeInterval: 0.05)
      if fails.withLock({ $0 }) { throw Unreadable() }
      return Store(account.name)
    }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<5 {
        group.addTask { await #expect(throws: Unreadable.self) { try await cache.store(of: Self.account(1)) } }
      }
    }
    fails.withLock { $0 = false }
    #expect(try await cache.store(of: Self.account(1)).name == "1")
  }

  @Test("The account that was used before all others is released, and stays open for those who use it")
  func leastRecentlyUsed() async throws {
    let opened = Locked<[String]>([])
    let cache = Self.cache(limit: 2) { account in
      opened.withLock { $0.append(account.name) }
      return Store(account.name)
    }
    var first: Store? = try await cache.store(of: Self.account(1))
    _ = try await cache.store(of: Self.account(2))
    _ = try await cache.store(of: Self.account(3))
    // Released, and the same one for a second user.
    let again = try await cache.store(of: Self.account(1))
    #expect(first === again)
    first = nil
    _ = try await cache.store(of: Self.account(3))
    _ = try await cache.store(of: Self.account(2))
    #expect(opened.withLock { $0 } == ["1", "2", "3", "2"])
    #expect(cache.closeAll(waitingAtMost: .zero))
    withExtendedLifetime(again) {}
    await #expect(throws: ServerError.self) { try await cache.store(of: Self.account(2)) }
  }

  @Test("Many accounts need the files of a few, and keep their data, jobs and waiting requests")
  func manyAccounts() async throws {
    let folder = try TemporaryFolder()
    let accounts = (1...24).map(Self.account)
    let storage = try EmbeddedStorage(
      in: try serverFolder(folder.path + "/data", accounts: accounts.map(\.folder)),
      schemas: [RestorationSchema.schema],
      accounts: [], openAccounts: 2)
    defer { storage.close() }
    let before = try Self.openFiles()
    let house = RecordName("Project", newUuid())
    var waiting: Task<WaitResult, any Error>?
    for account in accounts {
      let last = try await storage.write(account) { data in
        let project = try data.store(
          house, over: nil, RecordState(fields: ["title": .text(account.name)], updatedAt: 1), createdAt: 1, at: 1)
        for _ in 0..<100 {
          _ = try data.store(
            RecordName("Room", newUuid()), over: nil,
            RecordState(fields: ["title": "Hall", "projectId": .text(house.entityUuid)], updatedAt: 1), createdAt: 1,
            at: 1)
        }
        var gone = project.state
        (gone.isDeleted, gone.updatedAt) = (true, 2)
        // Most dependents follow in jobs, for which the account may have to be opened again.
        _ = try data.cascade(from: data.store(house, over: project, gone, createdAt: 1, at: 2), at: 2)
        return try data.lastSequence
      }
      waiting =
        waiting ?? Task { try await storage.waitForChange(account, after: last, projects: nil, seconds: 50) }
    }
    for account in accounts.reversed() {
      while try await storage.read(account, { try #require($0 as? AccountReader).hasJobs }) {
        try await Task.sleep(for: .milliseconds(5))
      }
      let (title, live) = try await storage.read(account) { data in
        (try data.record(house)?.state.fields["title"], try data.entityDigests(projects: nil)["Room"])
      }
      #expect(title == .text(account.name) && live == nil)
    }
    #expect(try await waiting?.value == .changed)
    #expect(try Self.openFiles() - before < 60)
  }

  private static func openFiles() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").count }
}

extension Range<Int> {
  /// The results of a closure that runs for all numbers at once.
  fileprivate func asyncMap<Value: Sendable>(
    _ body: @escaping @Sendable (Int) async throws -> Value
  ) async throws -> [Value] {
    try await withThrowingTaskGroup(of: Value.self) { group in
      for number in self { group.addTask { try await body(number) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }
}
