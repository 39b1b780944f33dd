import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Two devices and a server, as people use them.
@Suite(.serialized) struct SyncCommandTests {
  private let work: SyncWorkshop
  private var shop: Workshop { work.shop }

  init() throws { work = try SyncWorkshop() }

  @Test("Records of one vault appear in the other after a sync") func recordsMadeHereAppearThere() throws {
    let project = try work.put("a.vault", "Project", "title=14 Elm Street")
    let room = try work.put("a.vault", "Room", "title=Attic", "projectId=\(project)")
    let log = try work.put(
      "a.vault", "AtmosphericLog", "projectId=\(project)", "roomId=\(room)", "temperature=70.5", "relativeHumidity=40",
      "date=2026-01-01T00:00:00.000Z")
    let why = try shop.done("why", "AtmosphericLog", log, "--json", vault: "a.vault").object()
    #expect(why["syncStatus"] as? String == "pending")
    #expect((why["reason"] as? String)?.contains("Room") == true)
    let chain = try #require(why["chain"] as? [[String: Any]])
    #expect(chain.map { $0["entityUuid"] as? String } == [log, room, project])

    let sent = try work.sync("a.vault")
    #expect(sent["pushed"] as? Int == 3 && sent["attachments"] as? Int == 0 && sent["outcome"] as? String == "done")
    #expect(try work.sync("b.vault")["pulled"] as? Int == 3)
    #expect(try work.value("temperature", "AtmosphericLog", log, "b.vault") == "70.5")
    let status = try shop.done("status", "--json", vault: "a.vault").object()
    #expect(status["pending"] as? Int == 0 && status["network"] as? String == "online")
    #expect(status["lastSync"] is String && status["url"] as? String == work.url)
    #expect(try shop.done("sync", vault: "a.vault").output == "Nothing new.\n")
    let history = try shop.done("history", "--json", "-n", "1", vault: "a.vault").rows()
    #expect(history.count == 1 && history[0]["cause"] as? String == "manual")
  }

  @Test("A sync between two tries of a file that failed needs attention too")
  func fileThatFailedBefore() throws {
    let project = try work.put("a.vault", "Project", "title=Elm")
    try work.sync("a.vault")
    try Data([1, 2, 3]).write(to: URL(filePath: shop.path("photo.bin")))
    try shop.done("attach", "add", "Project", project, "@photo.bin", vault: "a.vault")
    try work.sync("a.vault")
    // The state after a response with status 500.
    let tried = """
      INSERT INTO AttachmentTransfer (contentUuid, variant, direction, retryCount, scheduledAt)
      SELECT contentUuid, 'full', 'upload', 1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+25 seconds') FROM AttachmentContent
      """
    try shop.done("query", tried, "--write", vault: "a.vault")
    let ran = try shop.run("sync", vault: "a.vault")
    #expect(ran.status == 8 && ran.output.contains("1 file will be retried"), "\(ran)")
    // As after the last try.
    try shop.done(
      "query", "UPDATE AttachmentTransfer SET status = 'failed', retryCount = 5", "--write", vault: "a.vault")
    let failed = try shop.run("sync", vault: "a.vault")
    #expect(failed.status == 8 && failed.output.contains("1 file failed: fieldvault attach list"), "\(failed)")
    #expect(!failed.output.contains("will be retried"), "\(failed)")
    try shop.done("attach", "retry", vault: "a.vault")
    #expect(try shop.run("sync", vault: "a.vault").status == 0)
  }

  @Test("A sync between two tries of an operation says that the operation waits")
  func operationThatFailedBefore() throws {
    let project = try work.put("a.vault", "Project", "title=Elm")
    try work.sync("a.vault")
    _ = try work.put("a.vault", "Project", "--uuid", project, "title=Oak")
    // The state after a response with status 500.
    let tried = """
      UPDATE OfflineSyncQueue SET retryCount = 1, scheduledAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+15 seconds')
      WHERE status = 'pending'
      """
    try shop.done("query", tried, "--write", vault: "a.vault")
    let output = try shop.done("sync", vault: "a.vault").output
    #expect(output == "Nothing new. 1 operation pending: fieldvault outbox list.\n", "\(output)")
  }

  /// A remaining log would have to be recovered by the next process that opens the vault.
  @Test("A sync closes the database and leaves no log") func theDatabaseIsClosedBehindASync() throws {
    for number in 1...5 {
      _ = try work.put("a.vault", "Project", "title=\(number)")
      try work.sync("a.vault")
      let files = try FileManager.default.subpathsOfDirectory(atPath: shop.path("a.vault/db"))
      #expect(files.contains { $0.hasSuffix("vault.db") } && !files.contains { $0.hasSuffix("-wal") }, "\(files)")
    }
  }

  @Test("Resolving a conflict says whether the server is told", arguments: [("remote", false), ("local", true)])
  func aDecisionSaysWhetherTheServerHearsOfIt(take side: String, isToldThere: Bool) throws {
    let project = try work.put("a.vault", "Project", "title=Elm")
    try work.sync("a.vault")
    try work.sync("b.vault")
    _ = try work.put("a.vault", "Project", "--uuid", project, "title=Elm A")
    _ = try work.put("b.vault", "Project", "--uuid", project, "title=Elm B")
    try work.sync("a.vault")
    try work.sync("b.vault")
    let conflict = try #require(shop.done("conflicts", "list", "--json", vault: "b.vault").rows().first)
    let id = try #require(conflict["conflictId"] as? String)
    let resolved = try shop.done("conflicts", "resolve", id, "--take", side, vault: "b.vault")
    #expect(resolved.errors.contains("sends the resolution") == isToldThere)
    #expect(try work.sync("b.vault")["pushed"] as? Int == (isToldThere ? 1 : 0))
  }

  @Test("Conflicts are listed, shown and resolved") func conflictsAreListedShownAndResolved() throws {
    let project = try work.put("a.vault", "Project", "title=Elm")
    try work.sync("a.vault")
    try work.sync("b.vault")
    _ = try work.put("a.vault", "Project", "--uuid", project, "title=Elm A", "status=completed")
    _ = try work.put("b.vault", "Project", "--uuid", project, "title=Elm B", "projectNumber=77")
    try work.sync("a.vault")
    let ran = try shop.run("sync", vault: "b.vault")
    #expect(ran.status == 8 && ran.output.contains("1 open conflict: fieldvault conflicts list"))

    let listed = try shop.done("conflicts", "list", "--json", vault: "b.vault").rows()
    let conflict = try #require(listed.first)
    let id = try #require(conflict["conflictId"] as? String)
    #expect(listed.count == 1 && conflict["fields"] as? [String] == ["title"])
    #expect((conflict["base"] as? [String: Any])?["title"] as? String == "Elm")
    #expect((conflict["localVersion"] as? [String: Any])?["title"] as? String == "Elm B")
    #expect((conflict["remoteVersion"] as? [String: Any])?["title"] as? String == "Elm A")
    let shown = try shop.done("conflicts", "show", id, vault: "b.vault").output
    #expect(shown.contains("!  title") && shown.contains("*  status"))

    #expect(try shop.run("conflicts", "resolve", id, vault: "b.vault").status == 2)
    #expect(
      try shop.run("conflicts", "resolve", id, "--take", "local", "--set", "title=x", vault: "b.vault").status == 2)
    #expect(try shop.run("conflicts", "resolve", id, "--take", "local", "--set", "no==x", vault: "b.vault").status == 4)
    #expect(try shop.run("conflicts", "show", Workshop.nobody, vault: "b.vault").status == 4)
    let resolved = try shop.done(
      "conflicts", "resolve", id, "--take", "local", "--set", "title==Elm C", "--note", "asked", "--json",
      vault: "b.vault"
    ).object()
    #expect(resolved["resolution"] as? String == "manual" && resolved["resolvedBy"] as? String == "bob")
    #expect(try shop.done("conflicts", "list", "--json", vault: "b.vault").rows().isEmpty)
    #expect(try shop.done("conflicts", "list", "--all", "--json", vault: "b.vault").rows().count == 1)
    try work.sync("b.vault")
    try work.sync("a.vault")
    for vault in ["a.vault", "b.vault"] {
      #expect(try work.value("title", "Project", project, vault) == "Elm C")
      #expect(try work.value("status", "Project", project, vault) == "completed")
      #expect(try work.value("projectNumber", "Project", project, vault) == "77")
    }
  }

  @Test("Discarding operations restores the last synced state") func whatIsDiscardedIsUndone() throws {
    let project = try work.put("a.vault", "Project", "title=Elm")
    try work.sync("a.vault")
    _ = try work.put("a.vault", "Project", "--uuid", project, "title=Oak")
    let second = try work.put("a.vault", "Project", "title=Never sent")
    let waiting = try shop.done("outbox", "list", "--json", vault: "a.vault").rows()
    #expect(waiting.map { $0["operationType"] as? String } == ["update", "create"])
    let ids = waiting.compactMap { $0["operationId"] as? String }
    let shown = try shop.done("outbox", "show", ids[0], "--json", vault: "a.vault").object()
    #expect(((shown["payload"] as? [String: Any])?["fields"] as? [String: Any])?["title"] as? String == "Oak")
    #expect(try shop.run("outbox", "show", "nothing", vault: "a.vault").status == 4)
    #expect(try shop.run("outbox", "retry", ids[0], vault: "a.vault").status == 10)
    #expect(try shop.run("outbox", "retry", vault: "a.vault").status == 2)
    #expect(try shop.done("outbox", "retry", "--all", "--json", vault: "a.vault").object()["retried"] as? Int == 0)
    let gone = try shop.done("outbox", "discard", ids[0], ids[1], ids[1], "--json", vault: "a.vault").object()
    #expect(gone["discarded"] as? [String] == ids && gone["records"] as? Int == 1)
    #expect(try work.value("title", "Project", project, "a.vault") == "Elm")
    #expect(try shop.done("list", "Project", "--json", vault: "a.vault").rows().count == 1)
    #expect(try work.sync("a.vault")["pushed"] as? Int == 0)
    #expect(
      try shop.done("list", "Project", "--where", "uuid = '\(second)'", "--json", vault: "a.vault").rows().isEmpty)
    #expect(try shop.done("outbox", "list", "--all", "--json", vault: "a.vault").rows().count == 1)
  }

  @Test("Without a server a sync ends with exit code 7 and loses nothing") func withoutTheServerNothingIsLost() throws {
    let project = try work.put("a.vault", "Project", "title=Elm")
    try work.stop()
    let ran = try shop.run("sync", "--json", vault: "a.vault")
    #expect(try ran.status == 7 && ran.object()["outcome"] as? String == "offline")
    #expect(ran.errors.contains("cannot be reached"))
    let status = try shop.done("status", "--json", vault: "a.vault").object()
    #expect(status["network"] as? String == "limited" && status["pending"] as? Int == 1)
    #expect(status["failed"] as? Int == 0)
    try work.start()
    #expect(try work.sync("a.vault")["pushed"] as? Int == 1)
    try work.sync("b.vault")
    #expect(try work.value("title", "Project", project, "b.vault") == "Elm")
  }

  @Test("Killed syncs lead to no lost and no repeated record") func aSyncThatIsKilledIsRepeatedOnce() throws {
    let rows = (0..<400).map { "Elm \($0)\n" }.joined()
    try shop.write("title\n" + rows, to: "projects.csv")
    try shop.done("import", "Project", shop.path("projects.csv"), "-q", vault: "a.vault")
    let before = try shop.count("OfflineProject", vault: "a.vault")
    for milliseconds in stride(from: 30, through: 210, by: 20) {
      let running = try shop.start(["sync", "--vault", shop.path("a.vault")], input: nil)
      usleep(UInt32(milliseconds) * 1000)
      kill(running.process, SIGKILL)
      _ = try running.wait()
    }
    try work.sync("a.vault")
    #expect(try work.sync("b.vault")["pulled"] as? Int == before)
    #expect(try shop.count("OfflineProject", vault: "b.vault") == before)
    #expect(
      try shop.done("query", "SELECT count(DISTINCT title) AS n FROM OfflineProject", "--json", vault: "b.vault")
        .rows().first?["n"] as? Int == before)
    #expect(try shop.done("status", "--json", vault: "a.vault").object()["pending"] as? Int == 0)
  }
}
