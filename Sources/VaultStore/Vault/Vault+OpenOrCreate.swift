import CipherSQL
import Platform
import VaultKeys

extension Vault {
  /// Opens the vault at a path, or creates it if nothing exists there.
  ///
  /// While another process is creating the vault, this throws `busy`; try again a moment later.
  /// - Parameters:
  ///   - path: the folder of the vault, whose parent exists. By convention its name ends in `.vault`.
  ///   - secret: unlocks a key slot of an existing vault, or becomes the first key slot of a new one.
  ///   - schemas: the schemas that the program was compiled with. An existing vault receives those that it lacks.
  /// - Throws: ``VaultError`` with `notAVault` if something else exists at the path, `damaged`, `busy`, `cannotWrite` or
  ///   `noSpace`; `KeyError` with `wrongSecret`, or for an empty secret; `SQLError` with `migration` if a schema file fails.
  public static func open(
    at path: String, with secret: UnlockSecret, creating schemas: [Schema],
    configuration: Configuration = Configuration()
  ) throws -> Vault {
    let additions = schemas.map { (source: SchemaSource(name: $0.name, folder: nil), schema: $0) }
    if !Files.exists(VaultLayout(folder: path).folder) {
      do {
        return try create(at: path, schemas: additions, secret: secret, configuration: configuration)
      } catch let error as VaultError where error.code == .alreadyExists {
        // Another process has created the vault in the meantime.
      }
    }
    return try open(at: path, with: secret, adding: additions, configuration: configuration)
  }
}
