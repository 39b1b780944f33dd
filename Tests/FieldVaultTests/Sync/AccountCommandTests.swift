import Foundation
import TestSupport
import Testing

/// Export and deletion of an account, through the command lines of a device and of an operator.
@Suite(.serialized) struct AccountCommandTests {
  private let work: SyncWorkshop
  private var shop: Workshop { work.shop }

  init() throws { work = try SyncWorkshop() }

  private func server(_ words: String...) throws -> Ran { try work.operate(words) }

  private func lines(_ path: String) throws -> [[String: Any]] {
    try String(contentsOfFile: shop.path(path), encoding: .utf8).split(separator: "\n").map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
    }
  }

  private func files(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: shop.path(folder) + "/files").sorted()
  }

  /// Makes a project with a file, which the server has.
  private func fill() throws -> String {
    let project = try work.put("a.vault", "Project", "title=Elm")
    try shop.write([UInt8](repeating: 7, count: 100_000), to: "plan.pdf")
    try shop.done("attach", "add", "Project", project, "@plan.pdf", vault: "a.vault")
    try work.sync("a.vault")
    return project
  }

  @Test("A user exports records and decrypted files, which another vault imports") func userExport() throws {
    let project = try fill()
    let ran = try shop.done("account", "export", "@mine", "--json", vault: "a.vault")
    let result = try ran.object()
    #expect(result["files"] as? Int == 1 && result["missing"] as? Int == 0, "\(ran.output)")
    #expect(ran.errors.contains("not encrypted"))
    #expect(try lines("mine/Project.ndjson").map { $0["uuid"] as? String } == [project])
    let names = try files("mine")
    #expect(names.count == 1 && names[0].hasSuffix(".pdf"))
    let path = shop.path("mine/files/\(names[0])")
    #expect(try Data(contentsOf: URL(filePath: path)) == Data(repeating: 7, count: 100_000))
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)

    try shop.done("init", "--schema", "restoration", "--quiet", vault: "c.vault")
    try shop.done("import", "Project", "@mine/Project.ndjson", vault: "c.vault")
    #expect(try work.value("title", "Project", project, "c.vault") == "Elm")

    // Nothing is overwritten, and a failed export leaves nothing.
    let again = try shop.run("account", "export", "@mine", vault: "a.vault")
    #expect(again.status == 1 && again.errors.contains("not empty"), "\(again.errors)")
    try work.stop()
    let away = try shop.run("account", "export", "@other", vault: "a.vault")
    #expect(away.status == 7, "\(away.errors)")
    #expect(!FileManager.default.fileExists(atPath: shop.path("other")))
    #expect(!FileManager.default.fileExists(atPath: shop.path("other.part")))
  }

  @Test("An operator exports an account beside a running server") func operatorExport() throws {
    let project = try fill()
    let ran = try server("account", "export", shop.path("all"), "water", "--json")
    #expect(ran.status == 0, "\(ran.errors)")
    let result = try ran.object()
    #expect(result["files"] as? Int == 1 && result["missing"] as? Int == 0 && result["records"] as? Int ?? 0 > 0)
    #expect(try lines("all/Project.ndjson").map { $0["uuid"] as? String } == [project])
    let name = try #require(try files("all").first)
    #expect(try Data(contentsOf: URL(filePath: shop.path("all/files/\(name)"))) == Data(repeating: 7, count: 100_000))
    #expect(try server("account", "export", shop.path("all"), "water").status == 1, "not empty")
    #expect(try server("account", "export", shop.path("none"), "fire").status == 4)
    #expect(!FileManager.default.fileExists(atPath: shop.path("none.part")))
    let log = try server("audit", "list", "--json")
    #expect(log.output.contains("account exported"))
  }

  @Test("A device deletes the account of its only user, and keeps its records") func userDelete() throws {
    let project = try fill()
    let unsent = try work.put("a.vault", "Project", "title=Oak")
    let asked = try shop.run("account", "delete", vault: "a.vault")
    #expect(asked.status == 10 && asked.errors.contains("1 Project"), "\(asked.errors)")
    // The account has two users.
    let refused = try shop.run("account", "delete", "--yes", vault: "a.vault")
    #expect(refused.status == 11 && refused.errors.contains("admin"), "\(refused.errors)")
    #expect(try shop.done("sync", vault: "a.vault").status == 0)

    try shop.write(try work.token(of: "boss", ["--account", "water", "--role", "admin"]), to: "admin")
    try shop.done("remote", "set", work.url, "--token-file", shop.path("admin"), "--no-check", vault: "a.vault")
    let deleted = try shop.done("account", "delete", "--yes", "--json", vault: "a.vault").object()
    let counts = try #require(deleted["deleted"] as? [String: Int])
    #expect(counts["rows"] ?? 0 >= 3 && counts["files"] == 1 && counts["responses"] ?? 0 >= 3, "\(counts)")
    #expect(try shop.done("remote", "show", "--json", vault: "a.vault").object()["hasToken"] as? Bool == false)
    #expect(try work.value("title", "Project", project, "a.vault") == "Elm")
    #expect(try work.value("title", "Project", unsent, "a.vault") == "Oak")
    #expect(try shop.run("sync", vault: "b.vault").status == 11)
  }

  @Test("An operator deletes an account beside a running server, and a repeated deletion finds none")
  func operatorDelete() throws {
    _ = try fill()
    let ran = try server("account", "delete", "water", "--json")
    #expect(ran.status == 0, "\(ran.errors)")
    let counts = try #require(try ran.object()["deleted"] as? [String: Int])
    #expect(counts["rows"] ?? 0 >= 2 && counts["files"] == 1 && counts["responses"] ?? 0 >= 2, "\(counts)")
    #expect(try ran.object()["finished"] as? Bool == true)
    #expect(try shop.run("sync", vault: "a.vault").status == 11)
    #expect(try server("account", "delete", "water").status == 4)
    #expect(try server("account", "list", "--json").json() as? [[String: String]] == [])
    #expect(try server("verify").status == 0)
  }
}
