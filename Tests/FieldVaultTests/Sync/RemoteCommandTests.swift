import Foundation
import Testing

/// The settings around sync.
@Suite(.serialized) struct RemoteCommandTests {
  @Test("remote refuses invalid addresses and tokens and keeps a token for its address only") func addressesAndTokens()
    throws
  {
    let shop = try Workshop()
    try shop.write("fv_token\n", to: "token")
    #expect(try shop.run("remote", "set", "nonsense").status == 2)
    #expect(try shop.run("remote", "set", "http://example.org").status == 10)
    #expect(try shop.run("remote", "set", "https://example.org", "--token-file", shop.path("none")).status == 1)
    try shop.write("with a space\n", to: "bad")
    let bad = try shop.run("remote", "set", "https://example.org", "--token-file", shop.path("bad"))
    #expect(bad.status == 10 && !bad.errors.contains("with a space"))
    #expect(try shop.done("remote", "show", "--json").object()["url"] is NSNull)
    #expect(try shop.done("status", "--json").object()["network"] is NSNull)
    #expect(try shop.run("sync").status == 1)
    try shop.done("remote", "set", "http://example.org", "--allow-insecure", "--no-check")
    let set = try shop.done(
      "remote", "set", "https://example.org/", "--token-file", shop.path("token"), "--no-check", "--json"
    )
    .object()
    #expect(set["url"] as? String == "https://example.org" && set["hasToken"] as? Bool == true)
    // The same address keeps the token. Another address receives no token that was not meant for it.
    for (url, isKept) in [("https://example.org", true), ("https://example.net", false)] {
      let again = try shop.done("remote", "set", url, "--no-check", "--json").object()
      #expect(again["hasToken"] as? Bool == isKept)
    }
    #expect(try shop.run("sync").status == 11)
    #expect(!(try shop.done("remote", "show").output.contains("fv_token")))
    try shop.done("remote", "unset")
    #expect(try shop.done("remote", "show", "--json").object()["url"] is NSNull)
  }

  @Test("Settings are shown, changed and validated") func settings() throws {
    let shop = try Workshop()
    let all = try shop.done("config", "get", "--json").object()
    #expect(all["mode"] as? String == "cloud" && all["unmetered-only"] as? Bool == false)
    #expect(all["projects"] as? String == "all")
    #expect(try shop.done("config", "set", "mode", "device", "--json").object()["mode"] as? String == "device")
    #expect(try shop.done("config", "get", "mode").output == "device\n")
    #expect(try shop.run("config", "set", "mode", "moon").status == 10)
    #expect(try shop.run("config", "set", "uploads", "plaintext").status == 2)
    #expect(try shop.run("config", "set", "mode", "cloud", "device").status == 2)
    try shop.done("remote", "set", "http://127.0.0.1:9", "--token-file", "-", "--no-check", input: "fv_token\n")
    #expect(try shop.run("sync").status == 7)
    #expect(try shop.done("status", "--json").object()["network"] as? String == "offline")
    try shop.done("config", "set", "projects", Workshop.project, Workshop.room)
    #expect(try shop.done("config", "get", "projects").output == "\(Workshop.project),\(Workshop.room)\n")
  }

  @Test("'remote set' tries the server and the token, and sets nothing when that fails")
  func setIsChecked() throws {
    let work = try SyncWorkshop()
    let shop = work.shop
    try shop.done("remote", "unset", vault: "a.vault")
    try shop.write("fv_wrong\n", to: "wrong")
    let wrong = try shop.run("remote", "set", work.url, "--token-file", shop.path("wrong"), vault: "a.vault")
    #expect(wrong.status == 11 && wrong.errors.contains("does not accept the token"), "\(wrong.errors)")
    let away = try shop.run(
      "remote", "set", "http://127.0.0.1:9", "--token-file", shop.path("token-a.vault"), vault: "a.vault")
    #expect(away.status == 7 && away.errors.contains("--no-check"), "\(away.errors)")
    #expect(try shop.done("remote", "show", "--json", vault: "a.vault").object()["url"] is NSNull)
    try shop.done("remote", "set", work.url, "--token-file", shop.path("wrong"), "--no-check", vault: "a.vault")
    #expect(try shop.run("sync", vault: "a.vault").status == 11)
    try shop.done("remote", "set", work.url, "--token-file", shop.path("token-a.vault"), vault: "a.vault")
    #expect(try shop.run("sync", vault: "a.vault").status == 0)
    // Tokens that the server accepts and a sync would refuse. The working token stays.
    for (user, options, message) in [
      ("eve", ["--account", "fire"], "the token belongs to 'fire'"),
      ("root", ["--account", "water", "--role", "admin"], "role admin"),
    ] {
      try shop.write(try work.token(of: user, options), to: "token-\(user)")
      let refused = try shop.run(
        "remote", "set", work.url, "--token-file", shop.path("token-\(user)"), vault: "a.vault")
      #expect(refused.status == 11 && refused.errors.contains(message), "\(refused.errors)")
      #expect(try shop.run("sync", vault: "a.vault").status == 0)
    }
    // A vault that is not to use the network asks nothing.
    try shop.done("config", "set", "mode", "device", vault: "a.vault")
    try shop.done("remote", "set", "http://127.0.0.1:9", "--token-file", shop.path("wrong"), vault: "a.vault")
  }

  @Test("A route file without an end is refused")
  func endlessRoutes() throws {
    let shop = try Workshop()
    let ran = try shop.run("remote", "set", "https://example.org", "--routes", "/dev/zero", "--no-check")
    #expect(ran.status == 10 && ran.errors.contains("/dev/zero is larger than 1 MiB"), "\(ran.errors)")
  }

  @Test("A file that only the server has is fetched by 'attach export'; without the server the exit code is 7")
  func exportFetches() throws {
    let work = try SyncWorkshop()
    let shop = work.shop
    let project = try work.put("a.vault", "Project", "title=Elm")
    try Data("moist".utf8).write(to: URL(fileURLWithPath: shop.path("note.txt")))
    let uuid = try #require(
      try shop.done("attach", "add", "Project", project, "@note.txt", "--json", vault: "a.vault").object()["uuid"]
        as? String)
    try work.sync("a.vault")
    try work.sync("b.vault")
    try work.stop()
    let offline = try shop.run("attach", "export", uuid, "@out.txt", vault: "b.vault")
    #expect(offline.status == 7, "\(offline.errors)")
    try work.start()
    try shop.done("attach", "export", uuid, "@out.txt", vault: "b.vault")
    #expect(try String(contentsOfFile: shop.path("out.txt"), encoding: .utf8) == "moist")
  }

  @Test("Two sides of a conflict that differ never look equal, and no escape sequence reaches the output")
  func conflictSides() throws {
    let work = try SyncWorkshop()
    let shop = work.shop
    let pairs: [(String, String)] = [
      ("a\u{200B}b", "ab"), ("a\u{AD}", "a"), ("e\u{301}", "\u{E9}"), ("a\u{A0}b", "a b"), ("a ", "a"),
      ("\\x1B[31m", "\u{1B}[31m"),
      (String(repeating: "x", count: 300) + "1", String(repeating: "x", count: 300) + "2"),
    ]
    var projects: [String] = []
    for _ in pairs { projects.append(try work.put("a.vault", "Project", "title=Elm")) }
    try work.sync("a.vault")
    try work.sync("b.vault")
    for (project, pair) in zip(projects, pairs) {
      try shop.done("put", "Project", "title=\(pair.0)", "--uuid", project, vault: "a.vault")
      try shop.done("put", "Project", "title=\(pair.1)", "--uuid", project, vault: "b.vault")
    }
    try work.sync("a.vault")
    _ = try shop.run("sync", vault: "b.vault")
    let conflicts = try shop.done("conflicts", "list", "--json", vault: "b.vault").rows()
    #expect(conflicts.count == pairs.count)
    for conflict in conflicts {
      let shown = try shop.done("conflicts", "show", try #require(conflict["conflictId"] as? String), vault: "b.vault")
      let row = try #require(shown.output.split(separator: "\n").first { $0.contains("title") })
      let cells = row.components(separatedBy: "  ").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
        !$0.isEmpty
      }
      #expect(cells.count >= 4 && cells[cells.count - 1] != cells[cells.count - 2], "\(row)")
      #expect(
        shown.output.unicodeScalars.allSatisfy {
          $0 == "\n" || $0.value >= 0x20 && $0.value != 0x200B && $0.value != 0xAD
        })
    }
  }

  @Test("logout names unsent work, asks, and keeps unsent records") func logoutNamesWhatIsNotSent() throws {
    let work = try SyncWorkshop()
    let shop = work.shop
    let company = try work.put("a.vault", "Company", "name=Dry")
    let material = try work.put("a.vault", "Material", "name=Oak")
    let project = try work.put("a.vault", "Project", "title=Elm", "companyId=\(company)")
    try work.sync("a.vault")
    _ = try work.put("a.vault", "Room", "title=Attic", "projectId=\(project)")
    try Data("moist".utf8).write(to: URL(fileURLWithPath: shop.path("note.txt")))
    try shop.done("attach", "add", "Project", project, "@note.txt", vault: "a.vault")
    let refused = try shop.run("logout", vault: "a.vault")
    #expect(refused.status == 10 && refused.errors.contains("unsent changes: 1 Photo, 1 Room, 1 file\n"))
    let out = try shop.done("logout", "--yes", "--json", vault: "a.vault").object()
    #expect(out["cleared"] as? Int == 1 && out["unsentFiles"] as? Int == 1)
    #expect(try work.value("name", "Material", material, "a.vault") == nil)
    #expect(try work.value("name", "Company", company, "a.vault") == "Dry")
    let remote = try shop.done("remote", "show", "--json", vault: "a.vault").object()
    #expect(remote["hasToken"] as? Bool == false && remote["account"] as? String == "water")
    #expect(try shop.run("sync", vault: "a.vault").status == 11)
    try shop.done("remote", "set", work.url, "--token-file", shop.path("token-b.vault"), vault: "a.vault")
    #expect(try work.sync("a.vault")["pushed"] as? Int == 2)
    #expect(try work.value("name", "Material", material, "a.vault") == "Oak")
  }
}
