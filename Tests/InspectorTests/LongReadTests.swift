import CipherSQL
import Foundation
import Platform
import RestorationModel
import TestSupport
import Testing
import VaultKeys
import WebPages

@testable import Inspector
@testable import RecordStore
@testable import VaultStore

/// Reads that take longer than a browser waits, and files that are made while they are sent.
@Suite(.serialized) struct LongReadTests {
  /// A text that no note contains. The search compares it with the rest of a note at 10,000 positions.
  private static let absent = String(repeating: "a", count: 10_000) + "b"
  private static let slowFilter = "field1=body&is1=contains&value1=" + absent

  /// Adds notes of 20,000 equal characters.
  private func addNotes(_ count: Int, to inspected: InspectedVault) throws {
    try inspected.fill()
    try inspected.vault.database.write { connection in
      try connection.execute(
        """
        INSERT INTO OfflineNote (projectId, title, body)
        WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(count))
        SELECT (SELECT projectId FROM OfflineProject LIMIT 1), 'n' || (n % 3), \(String(repeating: "a", count: 20_000)) FROM number
        """)
    }
  }

  private func id(_ page: String) throws -> String {
    try #require(page.firstMatch(of: #/name="id" value="([0-9]+)"/#).map { String($0.1) })
  }

  @Test("A page that takes long shows the visited rows, refreshes itself, and ends when the user cancels it")
  func progress() throws {
    let inspected = try InspectedVault(isWritable: false, patience: .zero)
    try addNotes(1500, to: inspected)
    try inspected.enter()
    let path = "/records?entity=Note&\(Self.slowFilter)"
    let first = try inspected.browser.get(path)
    #expect(first.status == 200 && first.headers["refresh"] == "2" && first.text.contains("Reading records for"))
    var page = first.text
    try blockUntil("rows are counted") {
      page = try inspected.browser.get(path + "&still=1").text
      return page.contains(#/[0-9]+ of at most 1,50[0-9] rows visited/#)
    }
    #expect(try inspected.browser.get(path + "&still=1").headers["refresh"] == nil)
    // The other pages stay usable.
    #expect(try inspected.browser.get("/outbox").status == 200)
    let id = try id(page)
    let reply = try inspected.browser.post("/records/cancel", ["id": id])
    let location = try #require(reply.headers["location"])
    #expect(
      reply.status == 303 && location.hasPrefix("/records?entity=Note&field1=body") && location.contains("stopped=1"))
    let stopped = try inspected.browser.get(location)
    #expect(stopped.text.contains("The read was cancelled") && stopped.text.contains("Filter and columns"))
    #expect(try inspected.browser.post("/records/cancel", ["id": id]).status == 410)
    #expect(try inspected.browser.post("/records/cancel", ["id": "x"]).status == 400)
  }

  @Test("The address of a read that goes on shows its result, once")
  func result() throws {
    let inspected = try InspectedVault(patience: .zero)
    try addNotes(300, to: inspected)
    try inspected.enter()
    let path = "/records?entity=Note&order=body&field1=title&is1=equals&value1=n1"
    #expect(try inspected.browser.get(path).text.contains("Reading records for"))
    var page = ""
    try blockUntil("the result is shown") {
      page = try inspected.browser.get(path + "&still=1").text
      return !page.contains("Reading records for")
    }
    #expect(page.components(separatedBy: "<tr>").count - 2 == 50 && page.contains("Next page"))
    #expect(!page.contains("still=1"))
    // The result is not kept.
    #expect(try inspected.browser.get(path).text.contains("Reading records for"))
  }

  @Test("A read that fails later explains the mistake at its address")
  func failure() throws {
    let inspected = try InspectedVault(patience: .zero)
    try inspected.fill()
    try inspected.enter()
    var page = try inspected.browser.get("/records?entity=Note&order=colour")
    try blockUntil("the read has ended") {
      page = try inspected.browser.get("/records?entity=Note&order=colour")
      return page.status != 200
    }
    #expect(page.status == 404 && page.text.contains("no field"))
  }

  @Test("A cancelled read ends its statement")
  func cancelledStatement() async throws {
    let inspected = try InspectedVault()
    try addNotes(1500, to: inspected)
    let reads = BackgroundReads(.system, patience: .zero)
    let entity = try inspected.vault.entities.entity("Note")
    var request = RecordPageRequest()
    request.filters = [.init("body", .contains, Self.absent)]
    let outcome = await reads.page(["entity": "Note"]) { [vault = inspected.vault, request] read in
      try await vault.database.read { visited in
        read.report { $0.visited = visited }
      } _: {
        try RecordReader($0).forEach(entity, page: request) { _ in }
      }
      return WebPage("done", "")
    }
    guard case .running(let read, let id) = outcome else { throw Unexpected("the read has ended already") }
    try await eventually("rows are visited") { read.progress.visited > 0 }
    #expect(reads.cancel(id) == ["entity": "Note"])
    await read.wait(atMost: .seconds(60))
    #expect(throws: CancellationError.self) { try read.result?.get() }
    #expect(read.progress.visited < 1500)
    #expect(reads.count == 0)
  }

  @Test(
    "Two reads go on at a time: a third ends the one whose page was requested least recently, and its page says so once"
  )
  func severalReads() async throws {
    let reads = BackgroundReads(.system, patience: .zero)
    let ended = Locked<Set<String>>([])
    @Sendable func ask(_ name: String) async -> BackgroundReads.Outcome {
      await reads.page(["entity": name]) { _ in
        do {
          try await Task.sleep(for: .seconds(600))
        } catch {
          ended.withLock { _ = $0.insert(name) }
          throw error
        }
        return WebPage("done", "")
      }
    }
    func isRunning(_ outcome: BackgroundReads.Outcome) -> Bool { if case .running = outcome { true } else { false } }
    func isDisplaced(_ outcome: BackgroundReads.Outcome) -> Bool {
      if case .displaced = outcome { true } else { false }
    }
    #expect(isRunning(await ask("a")))
    #expect(isRunning(await ask("b")))
    #expect(isRunning(await ask("a")))
    #expect(isRunning(await ask("c")))
    try await eventually("b has ended") { ended.withLock { $0 } == ["b"] }
    #expect(isDisplaced(await ask("b")))
    #expect(isRunning(await ask("a")))
    #expect(isRunning(await ask("c")))
    reads.close()
    try await eventually("all have ended") { ended.withLock { $0 } == ["a", "b", "c"] }
    if case .ended(.failure(let error)) = await ask("d") {
      #expect(error is CancellationError)
    } else {
      Issue.record("a read began after the end")
    }
  }

  @Test("A read that no page asks for is ended and forgotten")
  func forgotten() async throws {
    let clock = TestClock(isRunning: false)
    let reads = BackgroundReads(clock.clock, patience: .zero)
    let isEnded = Locked(false)
    _ = await reads.page(["entity": "a"]) { _ in
      do { try await Task.sleep(for: .seconds(600)) } catch { isEnded.withLock { $0 = true } }
      return WebPage("done", "")
    }
    clock.advance(by: .seconds(110))
    try await Task.sleep(for: .milliseconds(50))
    #expect(reads.count == 1 && !isEnded.withLock { $0 })
    clock.advance(by: .seconds(10))
    try await eventually("the read is forgotten") { reads.count == 0 && isEnded.withLock { $0 } }
  }

  @Test("A read during the lock ends, so that the vault is released")
  func lock() async throws {
    let folder = try TemporaryFolder()
    let clock = TestClock(isRunning: false)
    let path = folder.file("v.vault")
    // In functions of their own, so that no variable keeps the vault.
    let inspector = try Self.filledInspector(path, clock)
    let link = try inspector.start("127.0.0.1:0")
    let browser = try Browser(link)
    _ = try browser.get(String(link.dropFirst("http://127.0.0.1:\(browser.port)".count)))
    #expect(try browser.get("/records?entity=Project&\(Self.slowProjects)").text.contains("Reading records for"))
    clock.advance(by: .seconds(61))
    #expect(try browser.get("/").status == 403)
    let start = ContinuousClock.now
    while true {
      do {
        try await Task.detached { try rotateKey(at: path) }.value
        break
      } catch {
        guard ContinuousClock.now - start < .seconds(5) else { throw error }
        try await Task.sleep(for: .milliseconds(50))
      }
    }
    await inspector.stop()
  }

  private static let slowProjects = slowFilter.replacing("body", with: "title")

  private static func filledInspector(_ path: String, _ clock: TestClock) throws -> Inspector {
    let vault = try Vault.create(
      at: path, schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: keyFileSecret(),
      configuration: Configuration(environment: Environment(clock: clock.clock, random: .repeatable(7))))
    try vault.database.write { connection in
      try connection.execute(
        """
        INSERT INTO OfflineProject (title)
        WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1500)
        SELECT \(String(repeating: "a", count: 20_000)) FROM number
        """)
    }
    var settings = Inspector.Settings()
    (settings.idleSeconds, settings.patience) = (60, .zero)
    return Inspector(vault, name: "v", settings: settings) {}
  }

  // MARK: Files

  @Test("A CSV file of 12 MB arrives whole, one file at a time, and ends early when the browser goes away")
  func csv() throws {
    let inspected = try InspectedVault()
    try addNotes(600, to: inspected)
    try inspected.enter()
    let path = "/records?entity=Note&show.body=1&as=csv"
    let download = try inspected.browser.open(path)
    try #expect(download.next().count > 0)
    let busy = try inspected.browser.get(path)
    #expect(busy.status == 503 && busy.text.contains("one file at a time"))
    // A mistake is a page, and not the end of a file.
    #expect(try inspected.browser.get(path + "&field1=colour").status == 404)
    #expect(try inspected.browser.get(path, method: "HEAD").status == 503)
    var received = 0
    while case let part = try download.next(), !part.isEmpty { received += part.count }
    #expect(received > 11_900_000 && download.isComplete)

    try blockUntil("the next file begins") { try inspected.browser.get(path, method: "HEAD").status == 200 }
    let abandoned = try inspected.browser.open(path)
    try #expect(abandoned.next().count > 0)
    abandoned.close()
    try blockUntil("the server notices that the browser has gone") {
      try inspected.browser.get("/records?entity=Project&show.title=1&as=csv").status == 200
    }
  }

  @Test("The query of a CSV file sorts nothing, whichever index its filters have")
  func plan() throws {
    let inspected = try InspectedVault()
    try inspected.fill()
    let entity = try inspected.vault.entities.entity("Note")
    for comparison in RecordPageRequest.Filter.Comparison.allCases {
      for (field, value) in [("projectId", "1"), ("title", "t"), ("syncStatus", "pending")] {
        var request = RecordPageRequest()
        request.filters = [.init(field, comparison, value)]
        request.order = "title"
        let plan = try inspected.vault.database.read { [request] connection in
          let query = try RecordReader(connection).additions(entity, request)
          return try connection.fetchRows("EXPLAIN QUERY PLAN \(query)", as: Int.self, Int.self, Int.self, String.self)
            .map(\.3)
        }
        #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(field) \(comparison): \(plan)")
      }
    }
  }
}
