import FileServer
import SQLCipherStorage

extension ServerFolder {
  /// Opens the folder.
  ///
  /// Only a folder without any data is set up. Data without its key or its directory is damaged, and nothing is made in
  /// place of a missing file.
  /// - Parameters:
  ///   - keyFile: holds the secret; `server.key` in the folder when nil.
  ///   - isCreating: sets up a folder that holds no data.
  /// - Throws: ``ServerError`` with `noData` when the folder holds no data and is not to be set up, with `wrongKey` when the
  ///   key file is missing, with `damaged` when the directory is missing or empty; `KeyError`; `VaultError`.
  public init(_ path: String, keyFile: String? = nil, isCreating: Bool) throws {
    try self.init(path, keyFile: keyFile, isCreating: isCreating, databases: [.records, .files])
  }
}
