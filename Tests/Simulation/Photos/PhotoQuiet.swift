import CipherSQL
import Foundation
import VaultStore
import SyncEngine

/// The phase after the records are quiet: unsent files are sent, and every device downloads every photo.
struct PhotoQuiet {
  /// More passes than this are not a bounded time.
  static let limit = 20

  let devices: [any WatchedDevice]

  /// - Throws: ``Violation``
  func settle() async throws {
    for device in devices { try device.vault.setPreference(.storageLimit, "2GB") }
    var log: [String] = []
    for pass in 1...Self.limit {
      var isQuiet = true
      for device in devices {
        let asked = try ask(device)
        let report = try await Quiet.sync(device)
        let delayed = try delayed(device)
        if report.filesSent + report.filesFetched + delayed == 0 { continue }
        isQuiet = false
        log.append(
          "pass \(pass), \(device.name): asked for \(asked), sent \(report.filesSent), fetched \(report.filesFetched), "
            + "failed \(report.filesFailed), delayed \(delayed)")
      }
      if isQuiet { return }
    }
    let left = try devices.flatMap { try $0.unfinished() }
    throw Violation(
      9, ["files are not quiet after \(Self.limit) passes"] + log.suffix(devices.count * 3) + left.prefix(6))
  }

  /// Requests every missing photo, like a user who opens it, and retries failed transfers.
  private func ask(_ device: any WatchedDevice) throws -> Int {
    _ = try device.vault.retryTransfers()
    let absent = try device.read { connection in
      try connection.fetch(
        """
        SELECT photo.uuid FROM OfflinePhoto AS photo JOIN AttachmentContent AS content USING (contentUuid)
        WHERE photo.isDeleted = 0 AND content.full <> 'here'
        """, as: String.self)
    }
    for uuid in absent.compactMap({ UUID(sqlText: $0) }) {
      do {
        _ = try device.vault.openAttachment(uuid)
        throw Violation(9, "\(device.name) opens Photo \(uuid.sqlText), which is not there")
      } catch let error as VaultError where error.code == .notHere {
        continue
      }
    }
    return absent.count
  }

  /// Transfers that wait for their time, and not for a device that has the file. While the server lacks the record of a photo,
  /// because a user has to decide, it may have other bytes under the name.
  private func delayed(_ device: any WatchedDevice) throws -> Int {
    try device.read { connection in
      try connection.fetchOne(
        """
        SELECT count(*) FROM AttachmentTransfer AS transfer
        WHERE status = 'pending' AND scheduledAt IS NOT NULL AND absences = 0 AND NOT EXISTS (
          SELECT 1 FROM OfflinePhoto AS photo JOIN OfflineSyncQueue AS operation ON operation.entityUuid = photo.uuid
          WHERE photo.contentUuid = transfer.contentUuid AND photo.syncVersion = 0 AND operation.completedAt IS NULL)
        """, as: Int.self) ?? 0
    }
  }
}
