import CipherSQL
import Foundation
import TestSupport
import VaultStore
import RangeModel
import RestorationModel
import VaultKeys

/// A vault for the range, and what a shooter has fetched before driving there.
final class RangeBench {
  let folder: TemporaryFolder
  private(set) var vault: Vault
  let rifle: RifleSetup
  let ammunition: Ammunition
  let lot: AmmoLot
  let place: SavedLocation
  var database: Database { vault.database }
  private var path: String { folder.path + "/range.vault" }

  init(with others: [(name: String, schema: Schema)] = []) throws {
    folder = try TemporaryFolder()
    let schemas = others + [("range", RangeSchema.schema)]
    vault = try Vault.create(
      at: folder.path + "/range.vault",
      schemas: schemas.map { (SchemaSource(name: $0.name, folder: nil), $0.schema) }, secret: keyFileSecret())
    (rifle, ammunition, lot, place) = try vault.database.write { db in
      // As it is when it came from the server.
      try WriteMode.sync(on: db) {
        let fetched = Date(timeIntervalSince1970: 1_767_225_600)
        let rifle = try db.insert(
          RifleSetup(
            serverId: 7, name: "Tikka T3x", caliber: "6.5 Creedmoor", lastSyncedAt: fetched, syncStatus: .synced,
            syncVersion: 1, isDirty: false))
        let ammunition = try db.insert(
          Ammunition(
            serverId: 8, name: "ELD Match", manufacturer: "Hornady", grain: 140, lastSyncedAt: fetched,
            syncStatus: .synced, syncVersion: 1, isDirty: false))
        let lot = try db.insert(
          AmmoLot(
            serverId: 9, ammunitionId: ammunition.ammunitionId, lotNumber: "A-17", lastSyncedAt: fetched,
            syncStatus: .synced, syncVersion: 1, isDirty: false))
        let place = try db.insert(
          SavedLocation(
            serverId: 10, name: "Quarry", latitude: 45.5, longitude: -122.6, lastSyncedAt: fetched, syncStatus: .synced,
            syncVersion: 1, isDirty: false))
        return (rifle, ammunition, lot, place)
      }
    }
  }

  /// Closes the vault and opens it again, as after the app was closed.
  func reopen() throws {
    vault.close()
    vault = try Vault.open(at: path, with: keyFileSecret(), schemas: [RangeSchema.schema])
  }

  /// A session as it is recorded at the range: two holds, a string of five shots, a group of three.
  @discardableResult
  func record(_ date: Date = .nowInMilliseconds()) throws -> Recorded {
    try database.write { db in
      let session = try db.insert(
        Session(
          sessionDate: date, rifleSetupId: rifle.rifleSetupId, locationId: place.locationId, temperature: 41.5,
          humidity: 62, pressure: 29.92, windSpeed: 6, windDirection: 270, altitude: 350, notes: "gusty after noon"))
      for (distance, moa) in [(300, 4.25), (600, 13.5)] as [(Int64, Double)] {
        try db.insert(
          DopeEntry(
            sessionId: session.sessionId, ammunitionId: ammunition.ammunitionId, distance: distance, elevationMoa: moa))
      }
      let chrono = try db.insert(
        ChronoSession(
          sessionId: session.sessionId, ammunitionId: ammunition.ammunitionId, ammoLotId: lot.ammoLotId,
          chronographModel: "Garmin Xero C1", distanceToChronograph: 0))
      for (index, velocity) in [2710.0, 2698, 2705, 2721, 2401].enumerated() {
        try db.insert(
          VelocityReading(
            chronoSessionId: chrono.chronoSessionId, shotNumber: Int64(index + 1), velocity: velocity,
            isExcluded: velocity < 2500))
      }
      let group = try db.insert(
        GroupEntry(
          sessionId: session.sessionId, ammunitionId: ammunition.ammunitionId, groupNumber: 1, distance: 100,
          numberOfShots: 3))
      return Recorded(session: session, chrono: chrono, group: group)
    }
  }

  struct Recorded {
    let session: Session
    let chrono: ChronoSession
    let group: GroupEntry
  }

  /// `operationType entityType entityId` of what waits, in order.
  func queue() throws -> [String] {
    try database.read { db in
      try db.fetch(
        """
        SELECT operationType || ' ' || entityType || ' ' || entityId FROM OfflineSyncQueue
        WHERE completedAt IS NULL ORDER BY queueNumber
        """, as: String.self)
    }
  }

  func value<Value: SQLValue>(_ sql: SQL, as type: Value.Type = Value.self) throws -> Value? {
    try database.read { try $0.fetchOne(sql, as: type) }
  }

  func run(_ sql: SQL) throws { try database.write { _ = try $0.execute(sql) } }

  /// As if the server had taken all that waits.
  func settleAll() throws {
    let tables = try database.read {
      try $0.fetch("SELECT tableName FROM SyncedEntity WHERE schemaName = 'range'", as: String.self)
    }
    try database.write { db in
      try WriteMode.sync(on: db) {
        try db.execute("DELETE FROM OfflineSyncQueue")
        for table in tables {
          try db.execute(
            """
            UPDATE \(identifier: table) SET isDirty = 0, syncStatus = 'synced', syncVersion = 1,
              lastSyncedAt = '2026-01-01T12:00:00.000Z'
            """)
        }
      }
    }
  }

  /// As if the server had refused the operation of a record.
  func refuse(_ entity: String, _ table: String, _ message: String) throws {
    try database.write { db in
      try WriteMode.sync(on: db) {
        try db.execute("UPDATE \(identifier: table) SET syncStatus = 'failed' WHERE isDirty = 1")
        try db.execute(
          """
          UPDATE OfflineSyncQueue SET status = 'failed', errorStatus = 422, errorMessage = \(message)
          WHERE entityType = \(entity)
          """)
      }
    }
  }
}

extension Seeded {
  /// A number of the normal distribution (Box and Muller).
  mutating func normal() -> Double {
    let radius = (-2 * log(Double.random(in: Double.leastNonzeroMagnitude..<1, using: &self))).squareRoot()
    return radius * cos(2 * Double.pi * Double.random(in: 0..<1, using: &self))
  }
}

/// The code of a ``RangeError``; nil where nothing, or something else, was thrown.
func rangeCode(_ body: () throws -> Void) -> RangeError.Code? {
  do { try body() } catch let error as RangeError { return error.code } catch {}
  return nil
}

/// Whether two numbers agree to within a part of the larger of them, or of 1.
func near(_ left: Double, _ right: Double, _ tolerance: Double = 1e-9) -> Bool {
  abs(left - right) <= tolerance * max(1, abs(left), abs(right))
}
