import CipherSQL
import Foundation
import Platform
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage

/// Accounts that no request uses close, and give back their memory and descriptors.
@Suite struct IdleAccountTests {
  private final class Store: Sendable {
    let name: String
    private let closed: Locked<[String]>

    init(_ name: String, _ closed: Locked<[String]>) { (self.name, self.closed) = (name, closed) }
    deinit { closed.withLock { $0.append(name) } }
  }

  private static func account(_ number: Int) -> AccountName {
    AccountName(name: "\(number)", folder: String(format: "%032x", number))
  }

  private let time = TestClock(isRunning: false)
  private let closed = Locked<[String]>([])
  private let returned = Locked(0)

  private func cache() -> AccountCache<Store> {
    AccountCache(
      limit: 8, clock: time.clock, returnMemory: { [returned] in returned.withLock { $0 += 1 } }, close: { _ in true }
    ) { [closed] account in Store(account.name, closed) }
  }

  @Test("An account closes a minute after its last request, unless it is in use")
  func closes() async throws {
    let cache = cache()
    for number in 1...3 { _ = try await cache.store(of: Self.account(number)) }
    let inUse = try await cache.store(of: Self.account(4))
    time.advance(by: .seconds(59))
    _ = await cache.closeIdle()
    #expect(closed.withLock { $0 } == [])
    _ = try await cache.store(of: Self.account(2))
    time.advance(by: .seconds(1))
    #expect(await cache.closeIdle() == .seconds(59))
    #expect(closed.withLock { $0.sorted() } == ["1", "3"])
    // The same store as before, because its user has it open.
    let again = try await cache.store(of: Self.account(4))
    #expect(again === inUse)
  }

  @Test("The clock of the server closes idle accounts, and the last user of one closes it", .timeLimit(.minutes(1)))
  func closesByItself() async throws {
    let cache = cache()
    var inUse: Store? = try await cache.store(of: Self.account(1))
    for round in 1...2 {
      _ = try await cache.store(of: Self.account(2))
      // The timer may begin to sleep later than this advances its clock.
      try await eventually(every: .milliseconds(50)) {
        time.advance(by: .seconds(120))
        return closed.withLock { $0.count } == round
      }
    }
    #expect(closed.withLock { $0 } == ["2", "2"] && inUse != nil)
    inUse = nil
    #expect(closed.withLock { $0 } == ["2", "2", "1"])
  }

  @Test("Memory is returned once after accounts have closed, and never without that")
  func memory() async throws {
    let cache = cache()
    for number in 1...8 { _ = try await cache.store(of: Self.account(number)) }
    _ = await cache.closeIdle()
    #expect(returned.withLock { $0 } == 0)
    // The ninth account takes the place of the first.
    var inUse: Store? = try await cache.store(of: Self.account(9))
    _ = await cache.closeIdle()
    #expect(returned.withLock { $0 } == 1)
    time.advance(by: .seconds(60))
    _ = await cache.closeIdle()
    #expect(closed.withLock { $0.count } == 8)
    #expect(returned.withLock { $0 } == 2)
    _ = await cache.closeIdle()
    #expect(returned.withLock { $0 } == 2)
    withExtendedLifetime(inUse) {}
    inUse = nil
    #expect(await cache.closeIdle() == nil)
    #expect(returned.withLock { $0 } == 3)
  }

  @Test("An account that is opened while its storage closes is closed before the storage", .timeLimit(.minutes(1)))
  func opensLate() async throws {
    let folder = try TemporaryFolder()
    let isOpening = DispatchSemaphore(value: 0)
    let gate = DispatchSemaphore(value: 0)
    let blocks = Locked(false)
    let account = Self.account(1)
    var data = try serverFolder(folder.path + "/data", accounts: [account.folder])
    // The records are brought up to date with the last schema file when the account is opened, which asks for the time.
    let schema = RestorationSchema.schema
    try await makeJobs(
      account, in: data, Schema(name: schema.name, migrations: Array(schema.migrations.dropLast())))
    let system = Clock.system
    data.environment = Environment(
      clock: Clock(
        now: {
          // The first question for the time comes while the account is opened.
          let isFirst = blocks.withLock { blocks in
            defer { blocks = false }
            return blocks
          }
          if isFirst {
            isOpening.signal()
            gate.wait()
          }
          return system.now()
        }, instant: system.instant, sleepUntil: system.sleepUntil), random: .system)
    let storage = try EmbeddedStorage(in: data, schemas: [RestorationSchema.schema], accounts: [])
    blocks.withLock { $0 = true }
    let reading = Task { try await storage.read(account) { try $0.lastSequence } }
    await wait(for: isOpening)
    let closing = Task.detached { storage.close() }
    await eventuallyClosing(storage)
    gate.signal()
    await closing.value
    #expect(try openFiles(in: folder.path) == [])
    await #expect(throws: (any Error).self) { try await reading.value }
  }

  @Test("Idle accounts have no open file and no waiting request opens them; their data and jobs stay")
  func storage() async throws {
    let folder = try TemporaryFolder()
    var data = try serverFolder(folder.path + "/data", accounts: (1...4).map { Self.account($0).folder })
    data.environment = Environment(clock: time.clock, random: .system)
    let storage = try EmbeddedStorage(in: data, schemas: [RestorationSchema.schema], accounts: [])
    defer { storage.close() }
    for number in 1...4 { try await storage.write(Self.account(number)) { try Self.store($0, title: "\(number)") } }
    let waiting = Task {
      try await storage.waitForChange(Self.account(1), after: 1, projects: nil, seconds: 10_000_000)
    }
    #expect(try openFiles(in: folder.path).count >= 8)
    try await eventually(every: .milliseconds(50)) {
      time.advance(by: .seconds(100))
      return try openFiles(in: folder.path) == []
    }
    for number in 1...4 {
      let title = try await storage.read(Self.account(number)) { try $0.record(Self.house)?.state.fields["title"] }
      #expect(title == .text("\(number)"))
    }
    try await storage.write(Self.account(1)) { try Self.store($0, RecordName("Project", newUuid()), title: "new") }
    #expect(try await waiting.value == .changed)
  }

  // MARK: Support

  private static let house = RecordName("Project", newUuid())

  private static func store(_ data: any RecordWriting, _ name: RecordName = house, title: String) throws {
    _ = try data.store(
      name, over: nil, RecordState(fields: ["title": .text(title)], updatedAt: 1), createdAt: 1, at: 1)
  }

  /// Leaves an account with the jobs of a deletion, as a stopped server does.
  private func makeJobs(_ account: AccountName, in data: ServerFolder, _ schema: Schema) async throws {
    let storage = try EmbeddedStorage(in: data, schemas: [schema], accounts: [])
    let house = Self.house
    try await storage.write(account) { data in
      try Self.store(data, title: "Elm")
      for _ in 0..<2_000 {
        let state = RecordState(fields: ["title": "Hall", "projectId": .text(house.entityUuid)], updatedAt: 1)
        _ = try data.store(RecordName("Room", newUuid()), over: nil, state, createdAt: 1, at: 1)
      }
      let project = try #require(try data.record(house))
      let gone = project.state.applying(RecordPatch(isDeleted: true, updatedAt: 2))
      _ = try data.cascade(from: data.store(house, over: project, gone, createdAt: 1, at: 2), at: 2)
    }
    storage.close()
  }

  private func wait(for semaphore: DispatchSemaphore) async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        semaphore.wait()
        continuation.resume()
      }
    }
  }

  /// Returns when a storage refuses accounts, because it is being closed.
  private func eventuallyClosing(_ storage: EmbeddedStorage) async {
    while true {
      do {
        _ = try await storage.read(Self.account(2)) { try $0.lastSequence }
      } catch let error as ServerError where error.code == .busy {
        return
      } catch {
        await Task.yield()
      }
    }
  }
}
