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
  /// Applies all pending files of FieldVault and of the schemas to the directory and to each account. A server does the same at the
  /// first request of an account.
  /// - Parameters:
  ///   - named: schemas to serve in addition, or newer files of served ones.
  ///   - isTrial: whether only copies are changed, also while a server runs. The largest account must fit the disk once more.
  ///   - done: receives each result. An account that fails does not stop the others.
  /// - Throws: ``ServerError`` with `busy` if a server uses the folder and this is no trial; the error of the directory.
  @available(*, noasync, message: "migrates on the calling thread")
  public func migrate(
    adding named: [(source: SchemaSource, schema: Schema)], shipped: [Schema], asTrial isTrial: Bool,
    _ done: (DataMigration) throws -> Void
  ) throws {
    if isTrial {
      try withTrialFolder { trial in
        try trial.migrate(named, shipped, done) { account, migrate in
          let result = Result {
            try copyDatabases(of: account, to: trial)
            return try migrate()
          }
          // Before the next account, so that the copies of one account at a time use space.
          try Files.removeTree("\(trial.path)/accounts/\(account.folder)")
          return try result.get()
        }
      }
    } else {
      let hold = try holdForServing()
      defer { withExtendedLifetime(hold) {} }
      try migrate(named, shipped, done) { _, migrate in try migrate() }
    }
  }

  /// - Parameter around: runs the migration of an account.
  private func migrate(
    _ named: [(source: SchemaSource, schema: Schema)], _ shipped: [Schema], _ done: (DataMigration) throws -> Void,
    around: (AccountName, _ migrate: () throws -> [MigrationRecord]) throws -> [MigrationRecord]
  ) throws {
    let before = try applied(Self.directoryFile, keyName: ServerDirectory.keyName)
    let directory = try ServerDirectory(in: self)
    defer { directory.close() }
    let after = try directory.database.read { try MigrationRecord.all(in: $0) }
    try done(DataMigration(account: nil, files: Self.new(after, since: before), problem: nil))
    let schema = try AccountSchema(
      try directory.schemas(adding: named, shipped: shipped), environment: environment)
    for account in try directory.accounts() {
      let result = Result { try around(account) { try migrate(account, to: schema) } }
      switch result {
      case .success(let files): try done(DataMigration(account: account, files: files, problem: nil))
      case .failure(let error): try done(DataMigration(account: account, files: [], problem: "\(error)"))
      }
    }
  }

  private func migrate(_ account: AccountName, to schema: AccountSchema) throws -> [MigrationRecord] {
    try databases.flatMap { kind in
      let file = kind.path(account.folder)
      let before = try applied(file, keyName: kind.keyName(account.folder))
      let database = try kind.open(account.folder, in: self)
      defer { database.close() }
      if kind.fileName == AccountDatabase.records.fileName {
        try AccountUpgrade(schema).apply(to: database)
      } else {
        try Migrator(schemas: [kind.schema]).apply(to: database)
      }
      return Self.new(try database.read { try MigrationRecord.all(in: $0) }, since: before)
    }
  }

  private func applied(_ file: String, keyName: String) throws -> [MigrationRecord] {
    let database = try openDatabase(file, keyName: keyName, readers: 1)
    defer { database.close() }
    return try database.read { try MigrationRecord.all(in: $0) }
  }

  private static func new(_ after: [MigrationRecord], since before: [MigrationRecord]) -> [MigrationRecord] {
    struct Key: Hashable {
      let schema: String
      let version: Int
    }
    let known = Set(before.map { Key(schema: $0.schema, version: $0.version) })
    return after.filter { !known.contains(Key(schema: $0.schema, version: $0.version)) }
  }

  // MARK: Trials

  /// The folder of the copies that a trial migrates.
  static let trialName = "migration-trial"

  /// Calls a closure with a folder that has a copy of the directory, under the same keys. The copy is encrypted as the original.
  private func withTrialFolder(_ body: (ServerFolder) throws -> Void) throws {
    let place = "\(path)/\(Self.trialName)"
    let hold = try FolderLock.ifFree(path + "/trial.lock")
    guard let hold else { throw ServerError(.busy, "another trial is running on \(path)", hint: "wait until it ends") }
    defer { withExtendedLifetime(hold) {} }
    // A trial that did not end leaves its folder.
    try Files.removeTree(place)
    try Files.makeFolder(place)
    do {
      let database = try openDatabase(Self.directoryFile, keyName: ServerDirectory.keyName, readers: 1)
      defer { database.close() }
      try withUnchangingFile(of: database) { file, _ in try Files.copy(file, to: "\(place)/\(Self.directoryFile)") }
      try body(ServerFolder(copiesOf: self, at: place))
      try Files.removeTree(place)
    } catch {
      try Files.removeTree(place)
      throw error
    }
  }

  private func copyDatabases(of account: AccountName, to trial: ServerFolder) throws {
    var folder = trial.path
    for name in ["accounts", account.folder] {
      folder += "/" + name
      if !Files.exists(folder) { try Files.makeFolder(folder) }
    }
    for kind in databases {
      let database = try kind.open(account.folder, in: self)
      defer { database.close() }
      let target = "\(trial.path)/\(kind.path(account.folder))"
      try withUnchangingFile(of: database) { file, _ in try Files.copy(file, to: target) }
    }
  }

  /// Calls a closure with the file of a database, which does not change meanwhile. Waits up to a minute for reads that use the
  /// write-ahead log.
  /// - Parameter body: receives the path and the number of valid bytes. Nothing is done before the log is known to be free.
  @available(*, noasync, message: "waits on the calling thread")
  package func withUnchangingFile<Result>(
    of database: Database, _ body: (_ path: String, _ bytes: Int) throws -> Result
  ) throws -> Result {
    var tries = 0
    while true {
      do {
        return try database.withUnchangingFile(body)
      } catch let error as SQLError where error.code == .busy && tries < 600 {
        tries += 1
        usleep(100_000)
      }
    }
  }
}
