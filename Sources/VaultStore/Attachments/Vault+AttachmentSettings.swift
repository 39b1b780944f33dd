import CipherSQL

extension Vault {
  /// Returns the settings of the vault for its attachment files.
  public func attachmentSettings() throws -> AttachmentSettings {
    try database.read { try AttachmentSettings.read(from: $0) }
  }

  /// Returns the disk usage of the attachment files and the number of waiting transfers.
  public func attachmentUsage() throws -> AttachmentUsage { try database.read { try AttachmentUsage.read(from: $0) } }
}
