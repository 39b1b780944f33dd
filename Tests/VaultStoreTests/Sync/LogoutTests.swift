import CipherSQL
import RestorationModel
import StoreSupport
import SyncModel
import Testing

@testable import VaultStore

/// The data that a logout removes, and the data that stays.
@Suite struct LogoutTests {
  private let database: Database
  private let entities: Entities
  private var catalog: SyncCatalog { SyncCatalog(entities) }

  init() throws {
    (database, entities) = try restorationDatabase()
    try database.write { db in
      let company = try db.insert(Company(name: "Dry"))
      try db.insert(Material(name: "Oak"))
      let project = try db.insert(Project(companyId: company.companyId, title: "House"))
      try db.insert(
        AtmosphericLog(
          projectId: project.projectId, date: .nowInMilliseconds(), relativeHumidity: 50, temperature: 70))
      for type in ["Company", "Material", "Project", "AtmosphericLog"] { try markAsSynced(type, in: db, entities) }
      for name in [SyncSettings.Name.remoteURL, .remoteToken, .account, .user, .cursor] {
        try SyncSettings.set(name, "x", in: db)
      }
    }
  }

  private func logout() throws -> Int {
    try database.write { db in try SyncTransaction.run(on: db, catalog, now: 0) { try $0.logout() } }
  }

  private func count(_ table: String) throws -> Int? {
    try database.read { try $0.fetchOne("SELECT count(*) FROM \(identifier: table)", as: Int.self) }
  }

  private func setting(_ name: SyncSettings.Name) throws -> String? {
    try database.read { try SyncSettings.value(name, in: $0) }
  }

  @Test("An entity is reference data if it is server-owned and references no other entity")
  func referenceDataIsWhatTheServerDecidesAboutAndHangsOnNothingElse() {
    let types = catalog.tables.keys.filter(catalog.isReferenceData).sorted()
    // Readings of the air are the server's to decide about, too, but belong to a project.
    #expect(types == ["Company", "Material", "User"])
  }

  @Test("Logout removes the token and keeps the account and referenced records") func theTokenGoesAndTheAccountStays()
    throws
  {
    #expect(try logout() == 1)
    #expect(try setting(.remoteToken) == nil && setting(.user) == nil)
    #expect(try setting(.account) == "x" && setting(.remoteURL) == "x" && setting(.cursor) == "x")
    #expect(try setting(.reconcileNext) == "logout")
    #expect(try count("OfflineMaterial") == 0)
    // The project points to it.
    #expect(try count("OfflineCompany") == 1)
    #expect(try count("OfflineAtmosphericLog") == 1)
    #expect(try count("OfflineSyncQueue") == 0)
  }

  @Test("Logout keeps unsent records") func whatIsNotSentStays() throws {
    try database.write { try $0.insert(Material(name: "Pine")) }
    _ = try database.write { try $0.execute("UPDATE OfflineMaterial SET dryStandard = 12 WHERE name = 'Oak'") }
    #expect(try logout() == 0)
    #expect(try count("OfflineMaterial") == 2)
    #expect(try count("OfflineSyncQueue") == 2)
    #expect(try setting(.reconcileNext) == nil)
  }

  @Test("Logout does not replace a stronger reason for a comparison") func aReasonToCompareIsNotReplacedByALesserOne()
    throws
  {
    try database.write { try SyncSettings.compareNext("projects", in: $0) }
    #expect(try logout() == 1)
    #expect(try setting(.reconcileNext) == "projects")
  }

  // Found by the simulation, seed 481.
  @Test("A comparison that is requested during the first pull follows after it", arguments: [true, false])
  func logoutDuringFirstPull(hasBegun: Bool) throws {
    if !hasBegun { try database.write { try SyncSettings.set(.cursor, nil, in: $0) } }
    #expect(try logout() == 1)
    try database.write { db in
      try SyncTransaction.run(on: db, catalog, now: 0) { transaction in
        var counts = ApplyCounts()
        try transaction.changes.endPull(counts: &counts)
      }
    }
    #expect(try setting(.isFilled) == "true")
    // The removed records are before the cursor.
    #expect(try setting(.reconcileNext) == (hasBegun ? "logout" : nil))
  }
}
