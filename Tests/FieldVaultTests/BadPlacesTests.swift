import Foundation
import TestSupport
import Testing

/// A place that cannot be written, or has no room.
@Suite
struct BadPlacesTests {
  private static let needsMounts: Comment = "only root may mount the file systems of this test"

  @Test(
    "A full disk ends an import with exit code 9 and keeps the earlier records",
    .enabled(if: Mount.isPossible, needsMounts))
  func aFullDiskIsNamedAndTheRecordsBeforeItStand() throws {
    let shop = try Workshop()
    let disk = try Mount(at: shop.path("disk"), size: "3m")
    try FileManager.default.copyItem(atPath: shop.path("v.vault"), toPath: shop.path("disk/v.vault"))
    let before = try shop.content(vault: "disk/v.vault")
    try shop.write("title,level\n" + String(repeating: "A room,1\n", count: 60_000), to: "rooms.csv")
    for more in [[], ["--skip-invalid"]] {
      let ran = try shop.run(
        ["import", "Room", "@rooms.csv", "--set", "projectId=\(Workshop.project)"] + more, vault: "disk/v.vault")
      #expect(ran.status == 9, "\(ran.errors)")
      #expect(ran.output.isEmpty)
      #expect(ran.errors.contains("full"), "\(ran.errors)")
      #expect(try shop.content(vault: "disk/v.vault") == before)
    }
    withExtendedLifetime(disk) {}
  }

  @Test("A vault without space leaves no partial folder", .enabled(if: Mount.isPossible, needsMounts))
  func nothingIsLeftOfAVaultThatHadNoRoom() throws {
    let shop = try Workshop(vault: false)
    let disk = try Mount(at: shop.path("disk"), size: "200k")
    let ran = try shop.run("init", "--schema", "restoration", vault: "disk/v.vault")
    #expect(ran.status == 9, "\(ran.errors)")
    #expect(ran.errors.contains("error: "))
    #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("disk")) == [])
    withExtendedLifetime(disk) {}
  }

  @Test("A read-only file system is named with its path", .enabled(if: Mount.isPossible, needsMounts))
  func aReadOnlyFolderIsNamed() throws {
    let shop = try Workshop()
    let disk = try Mount(at: shop.path("disk"), size: "8m")
    try FileManager.default.copyItem(atPath: shop.path("v.vault"), toPath: shop.path("disk/v.vault"))
    try disk.makeReadOnly()
    let before = try shop.database(vault: "disk/v.vault")
    for arguments in [["put", "Project", "title=x"], ["query", "DELETE FROM OfflineRoom", "--write"]] {
      let ran = try shop.run(arguments, vault: "disk/v.vault")
      #expect(ran.status == 1, "\(ran.errors)")
      #expect(ran.errors.contains("disk/v.vault"), "\(ran.errors)")
      #expect(ran.errors.contains("Read-only file system"), "\(ran.errors)")
    }
    let ran = try shop.run("init", "--schema", "restoration", vault: "disk/new.vault")
    #expect(ran.status == 1)
    #expect(ran.errors.contains("disk/new.vault"), "\(ran.errors)")
    #expect(try shop.database(vault: "disk/v.vault") == before)
  }

  @Test(
    "A folder without write permission is named with its path", .enabled(if: !isRoot, "file modes do not stop root"))
  func aFolderWithoutThePermissionIsNamed() throws {
    let shop = try Workshop()
    try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: shop.path("home"))
    let ran = try shop.run("init", "--schema", "restoration", vault: "home/new.vault")
    #expect(ran.status == 1)
    #expect(ran.errors.contains("home/new.vault"), "\(ran.errors)")
  }

  @Test("The program ends silently when the reader of its output closes the pipe")
  func whereTheReaderOfTheOutputHasGoneTheProgramEndsSilently() throws {
    let shop = try Workshop()
    let shell = try #require(tool("bash"))
    let program = try builtProgram("fieldvault")
    let ran = try run(
      shell,
      [
        "-o", "pipefail", "-c", "'\(program)' query \"$0\" | head -n 1",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n",
      ],
      environment: shop.environment())
    #expect(ran.output.contains("i"))
    #expect(ran.errors.isEmpty, "\(ran.errors)")
    #expect(ran.status < 128)
  }

  @Test("A full standard output ends with exit code 9")
  func aFullStandardOutputIsNamed() throws {
    let shop = try Workshop()
    let shell = try #require(tool("bash"))
    let program = try builtProgram("fieldvault")
    for command in ["export Room", "list Room --json", "version", "help"] {
      let ran = try run(shell, ["-c", "'\(program)' \(command) > /dev/full"], environment: shop.environment())
      #expect(ran.status == 9, "\(command): \(ran.errors)")
      #expect(ran.errors.contains("no space left"), "\(ran.errors)")
    }
  }
}
