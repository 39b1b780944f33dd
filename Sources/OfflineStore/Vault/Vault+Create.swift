import CipherSQL
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Vault {
  /// Makes a vault. It appears under its name whole, or not at all.
  /// - Parameters:
  ///   - path: the folder to make, whose parent exists.
  ///   - schemas: the tables, beside those that FieldVault itself needs, and where they came from.
  ///   - secret: opens the first slot. There is no other way in.
  /// - Throws: ``VaultError`` with `alreadyExists`, `cannotWrite` or `noSpace`; `SQLError` with `migration` when a
  ///   schema file fails; `KeyError` for an empty secret.
  public static func create(
    at path: String, schemas: [(source: SchemaSource, schema: Schema)], secret: UnlockSecret, label: String = "",
    configuration: Configuration = Configuration()
  ) throws -> Vault {
    let layout = VaultLayout(folder: path)
    try secret.validate()
    guard !Files.exists(layout.folder) else {
      throw VaultError(
        .alreadyExists, "\(layout.folder) exists already", hint: "choose another name; nothing is overwritten")
    }
    let draft = VaultLayout(folder: layout.folder + ".making-\(getpid())")
    if Files.exists(draft.folder) { try Files.removeTree(draft.folder) }
    try Files.makeFolder(draft.folder)
    do {
      try fill(draft, schemas, secret, label, configuration)
      guard rename(draft.folder, layout.folder) == 0 else { throw FileProblem.current("make", layout.folder) }
    } catch {
      // What was begun goes again; when that fails too, the first failure is the one to report.
      try? Files.removeTree(draft.folder)
      throw error
    }
    try Files.syncFolder(parent(of: layout.folder))
    return try open(at: path, with: secret, schemas: schemas.map(\.schema), configuration: configuration)
  }

  private static func fill(
    _ layout: VaultLayout, _ schemas: [(source: SchemaSource, schema: Schema)], _ secret: UnlockSecret, _ label: String,
    _ configuration: Configuration
  ) throws {
    let (keyring, unlocked) = try Keyring.create(with: secret, label: label)
    let generation = keyring.generation.number
    for folder in [layout.databases, layout.generation(generation), layout.attachments] { try Files.makeFolder(folder) }
    // Files that SQLite makes take the mode of the folder's owner alone, whatever the user's umask says.
    let mask = umask(0o077)
    defer { _ = umask(mask) }
    let database = try Database(
      path: layout.database(generation: generation), key: GuardedKey(bytes: unlocked.databaseKey),
      configuration: configuration)
    defer { database.close() }
    try migrator(for: schemas.map(\.schema)).apply(to: database)
    try database.write { connection in
      try SchemaSource.write(schemas.map(\.source), to: connection)
    }
    try database.withWriter { _ = try $0.checkpoint() }
    try KeyringFile.create(keyring, at: layout.keyring)
    for folder in [layout.generation(generation), layout.databases, layout.folder] { try Files.syncFolder(folder) }
  }

  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Applies FieldVault's own tables first, then the others, and keeps the derived triggers in step.
  static func migrator(for schemas: [Schema]) -> Migrator {
    Migrator(
      schemas: [CoreSchema.schema] + schemas.filter { $0.name != CoreSchema.schema.name },
      willApply: DerivedTriggers.drop, didApply: DerivedTriggers.create)
  }
}
