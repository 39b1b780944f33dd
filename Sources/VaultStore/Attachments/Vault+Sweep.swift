import CipherSQL
import Platform
import VaultKeys

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
