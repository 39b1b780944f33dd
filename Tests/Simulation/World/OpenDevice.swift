import CipherSQL
import OfflineStore
import SyncEngine
import SyncModel

/// The vault of a device, opened by the orchestrator while the device's own process is gone.
struct OpenDevice {
  let seat: Seat
  let vault: Vault
  let remote: FieldVaultRemote
  let worker: SyncWorker
  let journal: Journal

  init(_ seat: Seat, url: String) throws {
    self.seat = seat
    do {
      vault = try DeviceVault.open(seat.folder)
    } catch {
      throw Violation(7, "the vault of \(seat.name) does not open: \(error)")
    }
    try CutTransfers.note(vault, seat.folder)
    remote = try DeviceVault.remote(seat.folder, vault, url: url, patience: 15)
    worker = try DeviceVault.worker(vault, remote)
    journal = try Journal(at: DeviceVault.journal(seat.folder))
  }

  func close() {
    vault.close()
    journal.close()
  }

  func decisions(_ seed: UInt64) throws -> Decisions {
    Decisions(
      vault: vault, journal: journal, name: seat.name, random: Seeded(seed),
      transaction: try Journal.next(journal.path))
  }

  func read<Result>(_ body: (Connection) throws -> Result) throws -> Result { try vault.database.read(body) }
}
