import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Edits of records that are later deleted together with their parent.
@Suite struct EditsBeforeDeletionTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device
  private let project: UUID

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    project = try await one.write { db in
      let house = try db.insert(Project(title: "House"))
      try db.insert(Room(projectId: house.projectId, title: "Kitchen"))
      return house.uuid
    }
    try await one.sync()
    try await two.sync()
  }

  private static let edit: SQL = "UPDATE OfflineRoom SET title = 'Larder'"

  /// Restores the project on the second device and expects the edit on both devices.
  private func expectEdit(_ place: SourceLocation = #_sourceLocation) async throws {
    for device in [one, two, one, two] { try await device.sync() }
    _ = try await two.undelete("Project", project)
    for device in [two, one, two] { try await device.sync() }
    for device in [one, two] {
      #expect(
        try await device.values("SELECT title FROM OfflineRoom WHERE isDeleted = 0") == ["Larder"],
        sourceLocation: place)
    }
    try await Device.expectAgreement(one, two, nil, place)
  }

  // Found by the simulation, seed 11241, world 2, round 29.
  @Test(
    "An edit that arrives after another device deleted the parent is restored with the parent",
    arguments: [false, true])
  func editInFlight(editsAfterSealing: Bool) async throws {
    try await two.delete("Project", project)
    // The edit is later than the deletion, so it would restore the record if the parent existed.
    try await Task.sleep(for: .milliseconds(5))
    try await one.write {
      _ = try $0.execute(editsAfterSealing ? "UPDATE OfflineRoom SET title = 'Pantry'" : Self.edit)
    }
    let remote = InterveningRemote(remote: await one.worker.remote)
    remote.intervene { [one, two, project] number in
      guard number == 1 else { return }
      if editsAfterSealing { try await one.write { _ = try $0.execute(Self.edit) } }
      try await one.delete("Project", project)
      try await two.sync()
    }
    let worker = SyncWorker(
      vault: one.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    #expect(try await worker.sync(RoundRequest()).outcome == .done)
    #expect(remote.sent.first?.first?.patch.fields["title"] != nil)
    try await expectEdit()
  }

  // Found by the simulation, seed 11281, world 2, round 34: the same edit was sent endlessly.
  @Test("Refused edits of a deleted record are sent again without the refused reference, then dropped")
  func refusedEdits() async throws {
    let one = one
    try await one.write { db in
      let location = try db.insert(Location(projectId: 1, title: "Cellar"))
      _ = try db.execute("UPDATE OfflineRoom SET title = 'Larder', locationId = \(location.locationId)")
    }
    /// Seals the pending operations and acknowledges the operation of the room as if the server had deleted the
    /// room. The server's version references a location that this vault lacks. Returns the fields of the sent
    /// operation, or `nil` without one.
    func refuse(_ fields: [String], deleting project: UUID? = nil) async throws -> Set<String>? {
      let sent = try await one.vault.sync { transaction in
        try transaction.nextBatch(limit: 25).operations
      }
      if let project { try await one.delete("Project", project) }
      return try await one.vault.sync { transaction -> Set<String>? in
        var counts = PushCounts()
        for other in sent where other.entityType != "Room" {
          try transaction.acknowledge(.accepted(version: 9, serverId: nil), of: other, jitter: 0, counts: &counts)
        }
        guard let room = sent.first(where: { $0.entityType == "Room" }) else { return nil }
        let table = try #require(transaction.catalog.tables["Room"])
        let record = try #require(try table.find(room.entityUuid, in: transaction.connection))
        var state = record.state
        state.fields["title"] = .text("Kitchen")
        state.fields["locationId"] = .text("0195b2c0-0000-7000-8000-0000000000aa")
        (state.isDeleted, state.syncVersion) = (true, 7)
        let remote = RemoteRecord(
          entityType: "Room", entityUuid: room.entityUuid, serverId: record.serverId, createdAt: record.createdAt,
          state: state)
        try transaction.acknowledge(
          .conflict(.deletedRemotely, fields: fields, record: remote, other: nil), of: room, jitter: 0,
          counts: &counts)
        return Set(room.patch.fields.names)
      }
    }
    let version = try #require(try await one.value("SELECT syncVersion FROM OfflineRoom", as: Int64.self))
    #expect(try await refuse(["locationId"], deleting: project) == ["title", "locationId"])
    #expect(try await refuse([]) == ["title"])
    #expect(try await refuse([]) == nil)
    let state: SQL = "SELECT title || isDeleted || isDirty || syncVersion FROM OfflineRoom"
    // With the number of the version whose reference the row has, the server merges a restoration.
    #expect(try await one.values(state) == ["Kitchen10\(version)"])
  }
}
