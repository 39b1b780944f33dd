import Foundation
import TestSupport
import Testing

/// The real sqlcipher shell on the open vault.
@Suite(.enabled(if: tool("sqlcipher") != nil, "sqlcipher is not installed"))
struct ShellTests {
  @Test("A shell command reads and writes")
  func aCommandReadsAndWrites() throws {
    let shop = try Workshop()
    let read = try shop.done("shell", "--command", "SELECT title, squareFootage FROM OfflineRoom")
    #expect(read.lines.first?.hasPrefix("title") == true)
    #expect(read.output.contains("Attic"))
    let rows = try shop.done("shell", "--json", "-c", "SELECT title FROM OfflineRoom;").rows()
    #expect(rows.map { $0["title"] as? String } == ["Attic"])
    try shop.done("shell", "-c", "UPDATE OfflineRoom SET title = 'Loft'")
    #expect(try shop.done("list", "Room", "--json").rows()[0]["title"] as? String == "Loft")
  }

  @Test(
    "The constraints of the schema hold in the shell",
    arguments: [
      ("UPDATE OfflineRoom SET squareFootage = -1", "CHECK constraint failed: squareFootage >= 0"),
      ("INSERT INTO OfflineRoom (title, projectId) VALUES ('x', 99)", "FOREIGN KEY constraint failed"),
      ("INSERT INTO OfflineRoom (title) VALUES ('x')", "NOT NULL constraint failed: OfflineRoom.projectId"),
      ("INSERT INTO OfflineRoom (title, projectId, squareFootage) VALUES ('x', 1, 'big')", "cannot store TEXT value"),
      ("SELECT nix", "no such column: nix"),
    ])
  func theRulesHoldThere(_ sql: String, _ message: String) throws {
    let shop = try Workshop()
    let before = try shop.content()
    let ran = try shop.run("shell", "--command", sql)
    #expect(ran.status == 1)
    #expect(ran.errors.contains(message), "\(ran.errors)")
    #expect(try shop.content() == before)
  }

  @Test("DELETE in the shell marks the record and its dependents as deleted")
  func aDELETEMarksTheRecord() throws {
    let shop = try Workshop()
    try shop.done("shell", "--command", "DELETE FROM OfflineProject")
    #expect(try shop.count("OfflineProject WHERE isDeleted = 1") == 1)
    #expect(try shop.count("OfflineRoom WHERE isDeleted = 1") == 1)
  }

  @Test("The shell runs statements from standard input")
  func standardInputIsRun() throws {
    let shop = try Workshop()
    let ran = try shop.run("shell", input: "SELECT count(*) AS n FROM OfflineRoom;\n")
    #expect(ran.status == 0)
    #expect(ran.output.contains("n"))
    #expect(ran.output.contains("1"))
  }

  @Test("An overlong shell command is refused with a hint")
  func aCommandThatIsTooLongIsRefused() throws {
    let shop = try Workshop()
    let ran = try shop.run("shell", "--command", "SELECT '\(String(repeating: "x", count: 20_000))'")
    #expect(ran.status == 2)
    #expect(ran.errors.contains("pipe it to 'fieldvault shell'"))
  }

  #if os(Linux)
    @Test("The key appears neither in arguments nor environments nor output of the shell")
    func theKeyIsNowhereToBeSeen() throws {
      let shop = try Workshop()
      let shell = try OpenShell(shop)
      let running = shell.running
      let child = Result { try Processes.child(of: running.process) }
      let seen = Result {
        let child = try child.get()
        return try [running.process, child].flatMap { process in
          try ["cmdline", "environ"].map { try Processes.content("/proc/\(process)/\($0)") }
        }
      }
      let name = Result { try Processes.content("/proc/\(try child.get())/comm") }
      let ran = try shell.end()
      #expect(ran.status == 0, "\(ran.errors)")
      #expect(ran.output.contains("ready"))
      #expect(try name.get().contains("sqlcipher"))
      #expect(try seen.get().count == 4)
      for text in try seen.get() {
        #expect(!text.isEmpty)
        #expect(!Self.holdsKey(text), "\(text)")
      }
      #expect(!Self.holdsKey(ran.output + ran.errors))
    }

    @Test("The shell keeps no history")
    func noHistoryIsKept() throws {
      let shop = try Workshop()
      // The shell looks for the home of the user in the user list first, not in HOME.
      let home = String(cString: try #require(getpwuid(getuid())).pointee.pw_dir)
      let before = FileManager.default.contents(atPath: home + "/.sqlite_history")
      // A terminal of its own, because a shell keeps a history only there.
      if let script = tool("script") {
        let program = try builtProgram("fieldvault")
        var variables = shop.environment()
        variables["TERM"] = "dumb"
        let ran = try run(
          script, ["-qec", "'\(program)' shell", "/dev/null"], environment: variables,
          input: "SELECT 'typed ' || title FROM OfflineRoom;\n.quit\n")
        #expect(ran.output.contains("typed Attic"), "\(ran.output)")
        #expect(!Self.holdsKey(ran.output))
      }
      try shop.done("shell", "--command", "SELECT 1")
      #expect(FileManager.default.contents(atPath: home + "/.sqlite_history") == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("home")) == [])
    }
  #endif

  @Test("A missing sqlcipher program is reported")
  func whereThereIsNoShellItIsSaid() throws {
    let shop = try Workshop()
    let ran = try shop.run(["shell", "--command", "SELECT 1"], environment: ["PATH": shop.path("home")])
    #expect(ran.status == 1)
    #expect(ran.errors.contains("'sqlcipher' is not on the PATH"))
  }

  /// Whether 64 hexadecimal digits stand in a row, as a key is written.
  private static func holdsKey(_ text: String) -> Bool {
    text.range(of: "[0-9a-fA-F]{64}", options: .regularExpression) != nil
  }
}
