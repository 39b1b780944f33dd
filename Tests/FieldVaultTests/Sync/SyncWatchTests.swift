import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A device that syncs all day.
@Suite(.serialized) struct SyncWatchTests {
  private let work: SyncWorkshop
  private var shop: Workshop { work.shop }

  init() throws { work = try SyncWorkshop() }

  @Test("A running watch sends local writes and receives remote ones") func whatIsWrittenHereAndThereMovesByItself()
    throws
  {
    let watch = try shop.start(["sync", "--watch", "--json", "--vault", shop.path("a.vault")], input: nil)
    try blockUntil("the first round has ended") {
      try !shop.done("history", "--json", vault: "a.vault").rows().isEmpty
    }
    let there = try work.put("b.vault", "Project", "title=There")
    try work.sync("b.vault")
    try blockUntil("the change of the other device has come") {
      try work.value("title", "Project", there, "a.vault") == "There"
    }
    let here = try work.put("a.vault", "Project", "title=Here")
    try blockUntil("what was written here was sent") {
      try shop.done("status", "--json", vault: "a.vault").object()["pending"] as? Int == 0
    }
    try work.sync("b.vault")
    #expect(try work.value("title", "Project", here, "b.vault") == "Here")

    let beside = try shop.run("sync", vault: "a.vault")
    #expect(beside.status == 0 && beside.errors.contains("Another process syncs this vault"))
    let newest = try shop.done("history", "--json", "-n", "1", vault: "a.vault").rows()
    #expect(newest.first?["outcome"] as? String == "done" && newest.first?["cause"] as? String == "manual")
    #expect(try shop.run("sync", "--watch", vault: "a.vault").status == 6)

    kill(watch.process, SIGTERM)
    let ran = try watch.wait()
    #expect(ran.status == 130)
    let sum = try ran.object()
    #expect(sum["pushed"] as? Int == 1 && sum["pulled"] as? Int == 1)
  }

  @Test("A running watch resumes with a new token") func aNewTokenIsTakenByTheOneThatRuns() throws {
    try shop.write("fv_wrong\n", to: "wrong")
    try shop.done("remote", "set", work.url, "--token-file", shop.path("wrong"), "--no-check", vault: "a.vault")
    let refused = try shop.run("sync", vault: "a.vault")
    #expect(refused.status == 11 && refused.errors.contains("does not accept the token"))
    let project = try work.put("a.vault", "Project", "title=Elm")
    let why = try shop.done("why", "Project", project, vault: "a.vault").output
    #expect(why.contains("does not accept the token"))
    let watch = try shop.start(["sync", "--watch", "--vault", shop.path("a.vault")], input: nil)
    try blockUntil("the watch pauses") {
      try shop.done("history", "--json", "-n", "2", vault: "a.vault").rows().count == 2
    }
    let token = try String(contentsOfFile: shop.path("token-a.vault"), encoding: .utf8)
    try shop.done("remote", "set", work.url, "--token-file", "-", vault: "a.vault", input: token)
    try blockUntil("what waited was sent") {
      try shop.done("status", "--json", vault: "a.vault").object()["pending"] as? Int == 0
    }
    kill(watch.process, SIGINT)
    #expect(try watch.wait().status == 130)
  }
}
