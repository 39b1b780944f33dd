import CipherSQL
import DrawnSchema
import Foundation
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// The server applies a deletion exactly as a device does, for every kind of foreign key.
@Suite struct CascadeSyncTests {
  private static let seeds = (1...20).map { UInt64($0) } + [UInt64.random(in: 1000...UInt64.max)]

  private func devices(_ schema: Schema, _ count: Int, at server: LocalServer) async throws -> [Device] {
    var devices: [Device] = []
    for number in 0..<count {
      let device = try await Device("user\(number)", at: server, schema: schema)
      try await device.sync()
      devices.append(device)
    }
    return devices
  }

  private func content(_ drawn: DrawnSchema, of device: Device) throws -> [String] {
    try drawn.content(of: device.vault.database, isPlain: false)
  }

  /// Syncs up to ten times until the devices agree, because jobs of the server may still run. Returns whether they
  /// agree.
  private func agree(_ devices: [Device]) async throws -> Bool {
    for _ in 0..<10 {
      for device in devices { try await device.sync() }
      var digests: Set<[String: String]> = []
      for device in devices { digests.insert(try await device.digests()) }
      if digests.count == 1, try await devices[0].sync(RoundRequest(isFull: true)).repaired == 0 { return true }
      try await Task.sleep(for: .milliseconds(20))
    }
    return false
  }

  @Test("A deletion on a device leaves device, server and another device with equal records", arguments: seeds)
  func deletionOnADevice(seed: UInt64) async throws {
    let drawn = DrawnSchema(seed: seed, Seeded(seed))
    let server = try LocalServer(schemas: [drawn.schemaWithRows])
    let devices = try await devices(drawn.schemaWithRows, 2, at: server)
    var random = Seeded(seed &+ 1)
    for step in 0..<3 {
      let table = Int.random(in: 0..<drawn.tableCount, using: &random)
      let id = drawn.rows[table].randomElement(using: &random) ?? 1
      do {
        try await devices[0].write { _ = try $0.execute(SQL(raw: "DELETE FROM \(drawn.name(table)) WHERE id = \(id)")) }
      } catch let error as SQLError where error.code == .constraint {}
      let expected = try content(drawn, of: devices[0])
      let report = try await devices[0].sync()
      let note: Comment =
        "seed \(seed), step \(step): \(drawn.type(table)) \(id)\n\(expected)\n\(drawn.schema.migrations[0].sql)"
      #expect(report.conflicts == 0 && report.failed == 0, note)
      #expect(try await agree(devices), note)
      for device in devices { #expect(try content(drawn, of: device) == expected, note) }
    }
  }

  @Test("A deletion pushed without its cascade has the same effect on the server as on a device", arguments: seeds)
  func deletionAlone(seed: UInt64) async throws {
    let drawn = DrawnSchema(seed: seed, Seeded(seed))
    let server = try LocalServer(schemas: [drawn.schemaWithRows])
    let devices = try await devices(drawn.schemaWithRows, 3, at: server)
    let (offline, client, other) = (devices[0], devices[1], devices[2])
    var random = Seeded(seed &+ 1)
    for step in 0..<3 {
      let table = Int.random(in: 0..<drawn.tableCount, using: &random)
      let id = drawn.rows[table].randomElement(using: &random) ?? 1
      let uuid = drawn.uuid(table, id)
      let isLive: SQL = "SELECT syncVersion FROM \(raw: drawn.name(table)) WHERE uuid = \(uuid) AND isDeleted = 0"
      guard let version = try await client.value(isLive, as: Int64.self) else { continue }
      var isRefused = false
      do {
        try await offline.write { _ = try $0.execute(SQL(raw: "DELETE FROM \(drawn.name(table)) WHERE id = \(id)")) }
      } catch let error as SQLError where error.code == .constraint {
        isRefused = true
      }
      let expected = try content(drawn, of: offline)
      let request = try await client.vault.sync { transaction in
        PushRequest(
          deviceId: try transaction.deviceId(), deviceCounter: try transaction.nextDeviceCounter(), cursor: nil,
          operations: [
            PushOperation(
              operationId: "deletion\(step)", idempotencyKey: "deletion\(step)", kind: .delete,
              entityType: drawn.type(table), entityUuid: uuid,
              baseVersion: version, baseEpoch: try transaction.epoch(), schemaVersion: 2,
              patch: RecordPatch(isDeleted: true, updatedAt: transaction.serverNow))
          ])
      }
      let response = try await client.worker.remote.push(request)
      let note: Comment =
        "seed \(seed), step \(step): \(drawn.type(table)) \(id)\n\(response)\n\(drawn.schema.migrations[0].sql)"
      if case .conflict(.deletedLocally, _, _, let obstacle) = response.results[0].outcome {
        #expect(isRefused && obstacle != nil, note)
      } else if case .accepted = response.results[0].outcome {
        #expect(!isRefused, note)
      } else {
        Issue.record(note)
      }
      #expect(try await agree([client, other]), note)
      for device in [client, other] { #expect(try content(drawn, of: device) == expected, note) }
    }
  }
}
