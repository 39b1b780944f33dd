import Foundation
import Testing

/// The problems of a vault, from the command line.
@Suite
struct DoctorCommandTests {
  private let shop: Workshop

  init() throws { shop = try Workshop() }

  private func doctor(_ arguments: String..., status: Int32, location: SourceLocation = #_sourceLocation) throws
    -> [String:
    Any]
  {
    let ran = try shop.run(["doctor", "--json"] + arguments)
    #expect(ran.status == status, "\(ran.output)\(ran.errors)", sourceLocation: location)
    return try ran.object()
  }

  private func checks(_ report: [String: Any]) -> [String] {
    (report["findings"] as? [[String: Any]] ?? []).compactMap { $0["check"] as? String }
  }

  @Test("A healthy vault has no findings") func aWholeVaultIsWell() throws {
    let report = try doctor(status: 0)
    #expect(report["ok"] as? Bool == true)
    #expect(checks(report).isEmpty)
    #expect(try shop.done("doctor").output.hasPrefix("No problems found."))
  }

  @Test("Leftovers and wrong permissions are found and repaired") func leftoversAndPermissionsAreNamedAndMended() throws
  {
    try FileManager.default.createDirectory(atPath: shop.path("v.vault/db/0007"), withIntermediateDirectories: false)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: shop.path("v.vault"))
    let report = try doctor(status: 1)
    #expect(report["ok"] as? Bool == false)
    #expect(Set(checks(report)) == ["orphans", "permissions"])
    let repaired = try doctor("--repair", status: 0)
    #expect(repaired["ok"] as? Bool == true)
    #expect((repaired["repaired"] as? [String])?.count == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("v.vault/db")) == ["0001"])
  }

  @Test("The readable part of a damaged database is saved into a new vault")
  func whatCanBeReadOfADamagedDatabaseIsSavedIntoANewVault() throws {
    try shop.write("title,level\n" + String(repeating: "A room of the house,1\n", count: 4000), to: "rooms.csv")
    try shop.done("import", "Room", shop.path("rooms.csv"), "--set", "projectId=\(Workshop.project)", "--quiet")
    let file = shop.path("v.vault/db/0001/vault.db")
    var database = try Data(contentsOf: URL(filePath: file))
    database[database.count * 3 / 4] ^= 1
    try database.write(to: URL(filePath: file))
    #expect(checks(try doctor(status: 5)).contains("pages"))
    #expect(!FileManager.default.fileExists(atPath: shop.path("v.salvaged.vault")))
    let report = try doctor("--repair", status: 5)
    #expect(report["salvaged"] != nil)
    // A second repair would save the same.
    let next = (report["findings"] as? [[String: Any]] ?? []).compactMap { $0["next"] as? String }
    #expect(!next.isEmpty && next.allSatisfy { $0.hasPrefix("continue with ") && $0.contains("v.salvaged.vault") })
    // The damaged vault is as it was, and the new one opens with the same secret and is well.
    #expect(try Data(contentsOf: URL(filePath: file)) == database)
    let saved = try shop.count("OfflineRoom", vault: "v.salvaged.vault")
    #expect(saved > 3000 && saved <= 4001)
    #expect(try shop.run("doctor", vault: "v.salvaged.vault").status == 0)
  }

  @Test("A folder without a vault ends with exit code 4") func whatIsNoVaultIsNotExamined() throws {
    let ran = try shop.run("doctor", vault: "home")
    #expect(ran.status == 4)
    #expect(ran.errors.contains("is not a vault"))
  }
}
