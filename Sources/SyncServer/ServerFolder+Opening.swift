import FileServer
import SQLCipherStorage

extension ServerFolder {
  /// Opens the folder.
  ///
  /// Only a folder without any data is set up. Data without its key or its directory is damaged. A missing file is
  /// never replaced.
  /// - Parameters:
  ///   - keyFile: the file of the secret; `server.key` in the folder if `nil`.
  ///   - isCreating: whether to set up a folder without data.
  /// - Throws: ``ServerError`` with `noData` for a folder without data if `isCreating` is `false`, with `wrongKey` for
  ///   a missing key file, with `damaged` for a missing or empty directory; `KeyError`; `VaultError`.
  public init(_ path: String, keyFile: String? = nil, isCreating: Bool) throws {
    try self.init(path, keyFile: keyFile, isCreating: isCreating, databases: [.records, .files])
  }
}
