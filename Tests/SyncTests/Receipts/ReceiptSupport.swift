import CipherSQL
import Foundation
import ReceiptsModel
import SyncModel
import HTTPClient
import HTTPServer
import SyncServer
import Testing

@testable import VaultStore
@testable import SyncEngine

/// A user's phone and tablet, and the server that extracts receipt data.
struct Household {
  let server: LocalServer
  let phone: Device
  let tablet: Device

  init(
    log: RequestLog = .silent, environment: Environment = .system { 0 },
    _ limit: (inout ServerLimits) -> Void = { _ in }
  ) async throws {
    server = try LocalServer(schemas: [ReceiptsSchema.schema], log: log, limit)
    phone = try await Device("phone", at: server, schema: ReceiptsSchema.schema, environment: environment)
    tablet = try await Device("tablet", at: server, schema: ReceiptsSchema.schema, environment: environment)
  }

  /// Creates the receipt on the phone and syncs both devices, so that nothing waits. Returns its UUID.
  @discardableResult
  func shareReceipt(_ receipt: Receipt) async throws -> UUID {
    try await phone.write { _ = try $0.insert(receipt) }
    try await phone.sync()
    try await tablet.sync()
    return receipt.uuid
  }

  /// Pushes values as an extraction service, on top of the newest version. Returns the outcome.
  /// - Parameter version: Another version that the service started from.
  func extract(_ uuid: UUID, _ fields: SyncObject, base: SyncObject = [:], version: Int64? = nil) async throws
    -> PushResult.Outcome
  {
    let token = try server.token("extraction-\(UUID().uuidString)", role: .service)
    let transport = HTTPTransport(address: try ServerAddress(server.server.url)) { token }
    let remote = FieldVaultRemote(transport: transport)
    let records = try await remote.records(entityType: "Receipt", uuids: [uuid.sqlText], epoch: nil)
    let newest = try #require(records.changes.first)
    let identifier = UUID.version7().sqlText
    let operation = PushOperation(
      operationId: identifier, idempotencyKey: identifier, kind: .update, entityType: "Receipt",
      entityUuid: uuid.sqlText, baseVersion: version ?? newest.state.syncVersion, baseEpoch: records.epoch,
      schemaVersion: 6,
      patch: RecordPatch(
        fields: fields, userEditedFields: [], updatedAt: Date.nowInMilliseconds().milliseconds), base: base)
    let response = try await remote.push(
      PushRequest(deviceId: identifier, deviceCounter: 1, cursor: nil, operations: [operation]))
    return try #require(response.results.first).outcome
  }

  /// Expects that the devices agree with each other and with the server, and that nothing waits.
  func expectAgreement(_ place: SourceLocation = #_sourceLocation) async throws {
    #expect(try await phone.digests() == tablet.digests(), sourceLocation: place)
    for device in [phone, tablet] {
      #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 0, sourceLocation: place)
      #expect(try await device.waiting() == 0, sourceLocation: place)
      #expect(try await device.value("SELECT count(*) FROM SyncInbox", as: Int.self) == 0, sourceLocation: place)
    }
  }
}

extension Device {
  func run(_ sql: SQL) async throws { try await write { _ = try $0.execute(sql) } }

  /// Returns the number of operations that the server has not acknowledged.
  func waiting() async throws -> Int {
    try await value("SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Int.self) ?? 0
  }

  /// Evaluates an expression over the only receipt that is not deleted.
  func receipt(_ expression: SQL) async throws -> String? {
    try await values("SELECT ifnull(CAST(\(expression) AS TEXT), 'none') FROM OfflineReceipt WHERE isDeleted = 0").first
  }

  func attach(_ path: String, to receipt: UUID) throws -> UUID {
    try vault.attach([path], to: try vault.entities.entity("Receipt"), receipt)[0]
  }

  func attach(bytes: Int, to receipt: UUID) throws -> UUID {
    let path = folder.path + "/receipt-\(bytes).bin"
    try Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }).write(to: URL(filePath: path))
    return try attach(path, to: receipt)
  }

  /// Returns the size of an image in bytes. Returns `nil` and requests the file if it is missing on the device.
  func content(_ image: UUID, _ variant: AttachmentVariant = .full) -> Int? {
    do {
      var count = 0
      try vault.openAttachment(image, variant).forEachPart { count += $0.count }
      return count
    } catch {
      return nil
    }
  }

  /// Returns the number of unsent changes that a progress bar shows.
  func pending() throws -> Int { try vault.status().pending }

  /// Runs a round. Returns the number of due downloads of files that the server lacked before.
  func filesAskedFor(in cause: Schedule.Cause) async throws -> Int? {
    _ = try await worker.round(cause, RoundRequest())
    return try await value(
      "SELECT count(*) FROM AttachmentTransfer WHERE absences > 0 AND scheduledAt IS NULL", as: Int.self)
  }

  func attachment(_ image: UUID) throws -> AttachmentRecord { try vault.attachment(image) }

  func retryFiles() throws -> Int { try vault.retryTransfers() }
}
