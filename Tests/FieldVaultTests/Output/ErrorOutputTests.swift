import Foundation
import TestSupport
import Testing

@Suite("Errors of commands")
struct ErrorOutputTests {
  @Test(
    "With --json an error is one object on standard error, and standard output is empty",
    arguments: [
      (["get", "Room", "0eee0000", "--json"], 4, "notFound"), (["list", "Rom", "--json"], 4, "notFound"),
      (["list", "Room", "--limt", "1", "--json"], 2, "usage"), (["lst", "--json"], 2, "usage"),
      (["list", "Room", "--limit", "x", "--json"], 2, "usage"),
      (["put", "Room", "title=", "projectId=1", "--json"], 10, "refused"),
      (["query", "SELEC", "--json"], 10, "refused"), (["query", "SELEC", "--format", "json"], 10, "refused"),
      (["sync", "--json"], 1, "failed"), (["list", "Room", "--key-file", "@nofile", "--json"], 3, "locked"),
      (["list", "Room", "--vault", "@home", "--json"], 4, "notFound"),
    ] as [([String], Int32, String)])
  func errorsAreObjects(_ arguments: [String], _ status: Int32, _ code: String) throws {
    let ran = try Workshop().run(arguments)
    #expect(ran.status == status)
    #expect(ran.output.isEmpty)
    let lines = ran.errors.split(separator: "\n")
    #expect(lines.count == 1, "\(ran.errors)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(ran.errors.utf8)) as? [String: Any])
    #expect(object["code"] as? String == code)
    #expect(object["exitCode"] as? Int == Int(status))
    #expect((object["message"] as? String)?.isEmpty == false)
    #expect(object.keys.contains("hint"))
  }

  @Test(
    "With --json an error of fieldvault-server is one object on standard error, and standard output is empty",
    arguments: [
      (["user", "list", "--data", "nowhere", "--json"], 4, "notFound"), (["user", "lst", "--json"], 2, "usage"),
      (["user", "list", "--json"], 2, "usage"), (["user", "add", "ada", "--rol", "x", "--json"], 2, "usage"),
      (["backup", "out", "--data", "nowhere", "--json"], 4, "notFound"),
    ] as [([String], Int32, String)])
  func serverErrorsAreObjects(_ arguments: [String], _ status: Int32, _ code: String) throws {
    let folder = try TemporaryFolder()
    let ran = try run(
      try builtProgram("fieldvault-server"), arguments.map { ["nowhere", "out"].contains($0) ? folder.file($0) : $0 },
      environment: Workshop(vault: false).environment())
    #expect(ran.status == status, "\(ran.errors)")
    #expect(ran.output.isEmpty)
    #expect(ran.errors.split(separator: "\n").count == 1, "\(ran.errors)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(ran.errors.utf8)) as? [String: Any])
    #expect(object["code"] as? String == code)
    #expect(object["exitCode"] as? Int == Int(status))
    #expect((object["message"] as? String)?.isEmpty == false)
    #expect(object.keys.contains("hint"))
  }

  @Test("The candidates of an ambiguous prefix are in the object")
  func candidatesAreListed() throws {
    let shop = try Workshop()
    let id = try #require(try shop.done("outbox", "--json").rows().first?["operationId"] as? String)
    let ran = try shop.run("outbox", "show", String(id.prefix(4)), "--json")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(ran.errors.utf8)) as? [String: Any])
    #expect(ran.status == 2)
    #expect((object["candidates"] as? [String])?.count == 2)
    #expect(object["candidateCount"] as? Int == 2)
    #expect(object["message"] as? String == "'\(id.prefix(4))' is the beginning of 2 operation ids")
  }

  @Test("The hint is in the object")
  func theHintIsInTheObject() throws {
    let ran = try Workshop().run("list", "Room", "--where", "titel = 'x'", "--json")
    #expect(ran.errors.contains(#""hint":"did you mean 'title'?""#), "\(ran.errors)")
  }

  @Test(
    "A mistyped name has a suggestion, and the same mistake the same exit code",
    arguments: [
      BadCase(["list", "Room", "--where", "titel = 'x'"], 4, "Room has no field 'titel'", "did you mean 'title'?"),
      BadCase(["list", "Room", "--where", "OfflineRoom.titel = 'x'"], 4, "did you mean 'title'?"),
      BadCase(["list", "Room", "--where", "\"titel\" = 'x'"], 4, "Room has no field 'titel'"),
      BadCase(["list", "Room", "--where", "title ="], 10, "incomplete input"),
      BadCase(["list", "Room", "--order", "titel"], 4, "did you mean 'title'?"),
      BadCase(["put", "Room", "titel=x"], 4, "did you mean 'title'?"),
      BadCase(["query", "SELECT titel FROM OfflineRoom"], 10, "no such column: titel", "did you mean 'title'?"),
      BadCase(["query", "SELECT 1 FROM Room"], 10, "no such table: Room", "did you mean 'OfflineRoom'?"),
      BadCase(["query", "SELECT 1 FROM OfflineRoum"], 10, "did you mean 'OfflineRoom'?"),
      BadCase(["config", "set", "uplod", "plaintext"], 2, "did you mean 'upload'?"),
      BadCase(["config", "set", "upload", "plaintxt"], 10, "did you mean 'plaintext'?"),
      BadCase(["outbox", "lst"], 2, "did you mean 'list'?"),
      BadCase(["describe", "Project", "--vertcal"], 2, "did you mean '--vertical'?"),
    ])
  func namesHaveSuggestions(_ wrong: BadCase) throws { try wrong.check() }

  @Test("help exit-codes prints the table of the exit codes")
  func exitCodesAreListed() throws {
    let shop = try Workshop(vault: false)
    let lines = try shop.done("help", "exit-codes").lines
    #expect(lines.first == "Exit codes, with their names in JSON:")
    #expect(lines.contains("    4  notFound     no such vault, entity or record"), "\(lines)")
    for line in lines { #expect(line.count <= 80) }
    #expect(try shop.run("help", "exit-coodes").status == 2)
  }
}
