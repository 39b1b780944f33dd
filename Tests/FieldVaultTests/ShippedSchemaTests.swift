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

/// The schemas that both programs carry, alone and together.
@Suite struct ShippedSchemaTests {
  private static let range = [
    "AmmoLot", "Ammunition", "AnalyticsSummary", "ChronoSession", "DopeEntry", "GroupEntry", "GroupImage",
    "GroupMeasurement", "HolePosition", "RifleSetup", "SavedLocation", "Session", "VelocityReading",
  ]

  @Test("A vault with the range schema lists its entities") func aVaultForTheRangeNamesItsEntities() throws {
    let shop = try Workshop(vault: false)
    let made = try shop.done("init", "--schema", "range", "--json").object()
    #expect((made["entities"] as? [String])?.sorted() == Self.range)
    for entity in Self.range { #expect(try shop.done("list", entity, "--json").output == "[]\n") }
    let help = try shop.done("init", "--help").output
    #expect(help.contains("restoration, range"))
    let unknown = try shop.run(["init", "--schema", "rang"], vault: "n.vault")
    #expect(unknown.status == 4 && unknown.errors.contains("did you mean 'range'?"))
  }

  /// Records of a vault with both schemas reach a server with both, and another user's vault from there.
  @Test("One vault and one server hold the restoration and the range schema")
  func restorationAndRangeShareAVaultAndAServer() throws {
    let shop = try Workshop(vault: false)
    let beside = URL(fileURLWithPath: try builtProgram("fieldvault")).deletingLastPathComponent()
    let program = beside.appendingPathComponent("fieldvault-server").path
    let schemas = ["--schema", "restoration", "--schema", "range"]
    let server = try Running(
      program, ["serve", "--data", shop.path("data"), "--listen", "127.0.0.1:0", "-q"] + schemas,
      environment: shop.environment())
    defer { kill(server.process, SIGTERM) }
    try blockUntil("the server listens") { try server.outputSoFar().hasSuffix("\n") }
    let url = try server.outputSoFar().dropFirst("listening on ".count).prefix { $0 != "\n" }
    for (vault, person) in [("a.vault", "ada"), ("b.vault", "bob")] {
      let made = try shop.run(["init", "-q"] + schemas, vault: vault)
      #expect(made.status == 0, "\(made.errors)")
      let added = try run(program, ["user", "add", person, "--account", "x", "--data", shop.path("data"), "-q"])
      try shop.write(added.output, to: "token-\(vault)")
      try shop.done("remote", "set", String(url), "--token-file", shop.path("token-\(vault)"), "-q", vault: vault)
    }
    func put(_ words: String...) throws -> String {
      let ran = try shop.run(["put"] + words, vault: "a.vault")
      #expect(ran.status == 0, "\(ran.errors)")
      return String(ran.lines.first ?? "")
    }
    let rifle = try put("RifleSetup", "name=Tikka T3x", "caliber=6.5 Creedmoor")
    let session = try put("Session", "rifleSetupId=\(rifle)", "temperature=41.5", "windDirection=270")
    _ = try put("DopeEntry", "sessionId=\(session)", "distance=600", "elevationMil=3.9")
    let chrono = try put("ChronoSession", "sessionId=\(session)", "chronographModel=Xero")
    for (index, velocity) in [2710, 2698.5].enumerated() {
      _ = try put("VelocityReading", "chronoSessionId=\(chrono)", "shotNumber=\(index + 1)", "velocity=\(velocity)")
    }
    let group = try put("GroupEntry", "sessionId=\(session)", "groupNumber=1", "distance=100", "numberOfShots=5")
    let measured = try put("GroupMeasurement", "groupEntryId=\(group)", "bulletDiameter=0.264")
    _ = try put("HolePosition", "groupMeasurementId=\(measured)", "x=0.25", "y=-0.5")
    _ = try put("Project", "title=14 Elm Street")
    try shop.write("a target", to: "target.txt")
    try shop.done("attach", "add", "GroupMeasurement", measured, shop.path("target.txt"), vault: "a.vault")
    for vault in ["a.vault", "b.vault"] {
      let ran = try shop.run(["sync", "--json"], vault: vault)
      #expect(ran.status == 0, "\(ran.errors)")
    }
    func rows(_ sql: String, _ vault: String) throws -> String {
      try shop.done("query", sql, "--json", vault: vault).output
    }
    for sql in [
      "SELECT rifle, temperature, windDirection, dopeEntries, groupEntries, pending, syncStatus FROM sessions",
      "SELECT distance, elevationMil, windageMoa FROM dopeEntries", "SELECT shots, mean, slowest FROM chronoStrings",
      "SELECT groupNumber, holes, images FROM shotGroups", "SELECT x, y FROM OfflineHolePosition",
      "SELECT title FROM projects", "SELECT fileName, kind, groupMeasurementId IS NULL AS loose FROM OfflineGroupImage",
    ] {
      let here = try rows(sql, "a.vault")
      #expect(here.contains("{"), "\(sql)")
      #expect(try rows(sql, "b.vault") == here, "\(sql)")
    }
    #expect(try rows("SELECT count(*) AS n FROM pendingRangeRecords", "a.vault") == "[{\"n\":0}]\n")
    // The one deletion takes the rest along on the other side, too.
    try shop.done("delete", "Session", session, vault: "b.vault")
    for vault in ["b.vault", "a.vault"] { _ = try shop.run(["sync"], vault: vault) }
    #expect(try rows("SELECT count(*) AS n FROM OfflineHolePosition WHERE isDeleted = 0", "a.vault") == "[{\"n\":0}]\n")
    #expect(try rows("SELECT count(*) AS n FROM projects", "a.vault") == "[{\"n\":1}]\n")
  }
}
