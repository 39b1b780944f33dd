import CipherSQL
import SchemaModel
import ServerStorage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension ServerFolder {
  /// Checks that a server of this program could use a folder, without creating or migrating anything. Another server may be
  /// using it.
  /// - Parameters:
  ///   - keyFile: the file of the secret; `server.key` in the folder if `nil`.
  ///   - new: the schemas to add to the served ones.
  /// - Returns: the schemas that the server would serve.
  /// - Throws: the errors of opening the folder and its directory; ``ServerError`` with `noData` if the folder is missing and
  ///   could not be created; `SQLError` with `migration` if a newer program has written the directory.
  public static func check(
    _ path: String, keyFile: String?, adding new: [(source: SchemaSource, schema: Schema)], shipped: [Schema]
  ) throws -> [Schema] {
    guard try hasData(path) else {
      // The place where the server creates its first file or the folder.
      let place = Files.isMissing(path) ? Files.parent(of: withoutSlash(path)) : path
      guard Files.isFolder(place), access(place, W_OK | X_OK) == 0 else {
        throw ServerError(
          .noData, "\(place) is not a folder in which this user can create files",
          hint: "check the path and its permissions")
      }
      if let keyFile { _ = try ServerKey(at: keyFile) }
      return try ServedSchemas([], adding: new, shipped: shipped).schemas
    }
    let folder = try ServerFolder(path, keyFile: keyFile, isCreating: false, databases: [])
    let database = try folder.openDatabase(directoryFile, keyName: ServerDirectory.keyName, readers: 1)
    defer { database.close() }
    let known = try database.read { connection in
      let pending = try Migrator(schemas: [DirectorySchema.schema]).pending(in: connection)
      return try ServerDirectory.storedSchemas(
        in: connection, hasFiles: !pending.contains { $0.file.version == DirectorySchema.versionWithFiles })
    }
    return try ServedSchemas(known, adding: new, shipped: shipped).schemas
  }
}
