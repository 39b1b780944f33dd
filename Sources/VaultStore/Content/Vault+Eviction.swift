import CipherSQL
import Platform
import VaultKeys

extension Vault {
  /// Evicts files that the server holds until the vault's limit is met. An evicted file is fetched again on
  /// request.
  ///
  /// **After a crash** the rows record the evictions. The next opening of the vault removes the files.
  /// - Parameter kept: the uuid of a content whose files stay.
  /// - Returns: the number of evicted files.
  @discardableResult
  public func evict(keeping kept: String? = nil) throws -> Int {
    let settings = try attachmentSettings()
    guard try attachmentUsage().bytesUsed > settings.limit else { return 0 }
    let count = try database.write { connection in
      try SyncTransaction.run(on: connection, syncCatalog, now: connection.environment.now) {
        try $0.evict(downTo: settings.limit, keeping: kept)
      }
    }
    if count > 0 { try sweepAttachments() }
    return count
  }

  /// Evicts after a file was added, and ignores errors: the added file stays even if no other file can be evicted.
  /// The next eviction tries again.
  func evictIfPossible(keeping kept: String? = nil) { _ = try? evict(keeping: kept) }
}

extension Vault {
  /// Sweeps, and ignores errors: leftover files do no harm. The next opening of the vault sweeps again, and
  /// `doctor` lists the files that remain.
  package func sweepIfPossible() { _ = try? sweepAttachments() }

  /// Removes attachment files that no record needs: after a purge, an eviction or a crash. Opening a vault also
  /// sweeps.
  ///
  /// Removes no file while another operation writes, reads or copies attachment files. The next sweep removes them.
  /// - Returns: the number of removed files.
  @discardableResult
  public func sweepAttachments() throws -> Int {
    try AttachmentSweep(layout: layout, database: database).run().removed.count
  }
}
