import CipherSQL

/// The versions of the vault's schemas. No sync transaction changes them, so each is read once.
package final class SchemaVersions {
  package init() {}

  private var known: [String: Int64] = [:]

  package func version(of schema: String, in connection: Connection) throws -> Int64 {
    if let version = known[schema] { return version }
    let version =
      try connection.fetchOne(
        "SELECT coalesce(max(version), 0) FROM SchemaMigration WHERE schema = \(schema)", as: Int64.self) ?? 0
    known[schema] = version
    return version
  }
}
