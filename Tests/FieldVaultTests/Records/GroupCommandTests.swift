import Foundation
import Testing

@Suite("Groups without a command")
struct GroupCommandTests {
  @Test(
    "A group without a command runs its list, also with --json",
    arguments: [
      (["outbox"], "list"), (["queue"], "list"), (["conflicts"], "list"), (["remote"], "show"), (["config"], "list"),
      (["key"], "list"), (["attach"], "list"), (["migrate"], "status"),
    ])
  func aGroupRunsItsList(_ group: [String], _ name: String) throws {
    let shop = try Workshop()
    for options in [[], ["--json"]] {
      let bare = try shop.run(group + options)
      let full = try shop.run(group + [name] + options)
      #expect(bare.status == 0, "\(bare.errors)")
      #expect(bare.output == full.output)
      #expect(bare.errors == full.errors)
      if !options.isEmpty { _ = try bare.json() }
    }
  }

  @Test("An option of the list selects it")
  func anOptionOfTheListSelectsIt() throws {
    let shop = try Workshop()
    #expect(try shop.done("outbox", "--all", "--json").rows().count == 2)
    let wrong = try shop.run("outbox", "--all", "show", "0bcd")
    #expect(wrong.status == 2)
    let bare = try shop.run("account")
    #expect(bare.status == 2)
    #expect(bare.errors.contains("'account' needs one of its commands: export or delete"), "\(bare.errors)")
  }

  @Test("config list has the value, the allowed values and the meaning of every setting")
  func configListExplainsEverySetting() throws {
    let shop = try Workshop()
    let values = try shop.done("config", "get", "--json").object()
    let rows = try shop.done("config", "--json").rows()
    #expect(Set(rows.compactMap { $0["setting"] as? String }) == Set(values.keys))
    for row in rows {
      let name = try #require(row["setting"] as? String)
      #expect("\(row["value"] ?? "none")" == "\(values[name] ?? "missing")")
      #expect((row["meaning"] as? String)?.isEmpty == false)
      #expect((row["allowed"] as? String)?.isEmpty == false)
    }
    let text = try shop.done("config").output
    #expect(text.contains("\n  upload               ciphertext\n"), "\(text)")
    #expect(text.contains("Allowed: ciphertext, plaintext."), "\(text)")
    for line in text.split(separator: "\n") { #expect(line.count <= 80) }
    let wrong = try shop.run("config", "get", "uplod")
    #expect(wrong.status == 2)
    #expect(wrong.errors.contains("did you mean 'upload'?"), "\(wrong.errors)")
  }
}
