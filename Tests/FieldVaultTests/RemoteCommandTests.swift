import Foundation
import Testing

/// The settings around sync.
@Suite(.serialized) struct RemoteCommandTests {
  @Test func addressesAndTokens() throws {
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
    try shop.done("remote", "set", "http://example.org", "--allow-insecure")
    let set = try shop.done("remote", "set", "https://example.org/", "--token-file", shop.path("token"), "--json")
      .object()
    #expect(set["url"] as? String == "https://example.org" && set["hasToken"] as? Bool == true)
    // The same address keeps the token; another one gets none that was not meant for it.
    #expect(try shop.done("remote", "set", "https://example.org", "--json").object()["hasToken"] as? Bool == true)
    #expect(try shop.done("remote", "set", "https://example.net", "--json").object()["hasToken"] as? Bool == false)
    #expect(try shop.run("sync").status == 11)
    #expect(!(try shop.done("remote", "show").output.contains("fv_token")))
    try shop.done("remote", "unset")
    #expect(try shop.done("remote", "show", "--json").object()["url"] is NSNull)
  }

  @Test func settings() throws {
    let shop = try Workshop()
    let all = try shop.done("config", "get", "--json").object()
    #expect(all["mode"] as? String == "cloud" && all["unmetered-only"] as? Bool == false)
    #expect(all["projects"] as? String == "all")
    #expect(try shop.done("config", "set", "mode", "device", "--json").object()["mode"] as? String == "device")
    #expect(try shop.done("config", "get", "mode").output == "device\n")
    #expect(try shop.run("config", "set", "mode", "moon").status == 10)
    #expect(try shop.run("config", "set", "uploads", "plaintext").status == 2)
    #expect(try shop.run("config", "set", "mode", "cloud", "device").status == 2)
    try shop.done("remote", "set", "http://127.0.0.1:9", "--token-file", "-", input: "fv_token\n")
    #expect(try shop.run("sync").status == 7)
    #expect(try shop.done("status", "--json").object()["network"] as? String == "offline")
    try shop.done("config", "set", "projects", Workshop.project, Workshop.room)
    #expect(try shop.done("config", "get", "projects").output == "\(Workshop.project),\(Workshop.room)\n")
  }

  @Test func logoutNamesWhatIsNotSent() throws {
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
    #expect(refused.status == 10 && refused.errors.contains("not sent: 1 Photo, 1 Room, 1 file\n"))
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
