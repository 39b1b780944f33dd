import CipherSQL
import FileServer
import Platform
import SQLCipherStorage
import ServerStorage

extension ServerFolder {
  /// Creates a server folder from a backup. It appears under its name when it is complete, verified and in a new
  /// epoch.
  /// - Parameters:
  ///   - backup: the file.
  ///   - target: the folder, which is missing or empty.
  ///   - keyFile: the key, for a backup without it.
  ///   - shipped: the schemas of the program.
  /// - Throws: ``ServerError`` with `exists` if the target is not empty, with `damaged` for a backup that fails its
  ///   verification, with `wrongKey`.
  public static func restore(
    _ backup: String, to target: String, keyFile: String? = nil, shipped: [Schema]
  ) async throws -> BackupSummary {
    try await restore(backup, to: target, keyFile: keyFile, shipped: shipped, environment: .system)
  }

  /// Restores a backup with another clock and another random source.
  package static func restore(
    _ backup: String, to target: String, keyFile: String? = nil, shipped: [Schema], environment: Environment
  ) async throws -> BackupSummary {
    let target = target.count > 1 && target.hasSuffix("/") ? String(target.dropLast()) : target
    guard try !Files.exists(target) || Files.isFolder(target) && Files.names(in: target).isEmpty else {
      throw ServerError(
        .exists, "\(target) already exists", hint: "choose a new folder; a restore does not replace a folder")
    }
    let draft = target + ".part"
    let marker = draft + "/restoring"
    if Files.exists(draft) {
      guard Files.exists(marker) else {
        throw ServerError(.exists, "\(draft) already exists", hint: "remove it, or choose another folder")
      }
      try Files.removeTree(draft)
    }
    let reader = try BackupReader(backup)
    try Files.makeFolder(draft)
    try Files.makeFile(marker)
    do {
      try reader.readAll { name in
        var folder = draft
        for part in name.split(separator: "/").dropLast() {
          folder += "/" + part
          if !Files.exists(folder) { try Files.makeFolder(folder) }
        }
        return try SequentialFile(making: draft + "/" + name)
      }
      let summary = try await check(draft, keyFile: keyFile, shipped: shipped, environment)
      for name in ["lock", "serving", "restoring"] { try Files.removeTree(draft + "/" + name) }
      try syncFolders(draft)
      try Files.rename(draft, to: target)
      try Files.syncFolder(Files.parent(of: target))
      return summary
    } catch {
      try Files.removeTree(draft)
      throw error
    }
  }

  private static func syncFolders(_ folder: String) throws {
    for name in try Files.names(in: folder) where Files.isFolder(folder + "/" + name) {
      try syncFolders(folder + "/" + name)
    }
    try Files.syncFolder(folder)
  }

  /// Checks a folder that was just written, and starts a new epoch of each account.
  private static func check(
    _ draft: String, keyFile: String?, shipped: [Schema], _ environment: Environment
  ) async throws -> BackupSummary {
    guard keyFile != nil || Files.exists(draft + "/server.key") else {
      throw ServerError(.wrongKey, "the backup does not contain the key of the server", remedy: .nameKeyFileOfBackup)
    }
    var folder = try ServerFolder(draft, keyFile: keyFile, isCreating: false)
    folder.environment = environment
    let found = try folder.verify()
    if let first = found.findings.first(where: { !$0.isMissingContent }) {
      throw ServerError(
        .damaged, "the backup was made of a damaged folder: \(first.message)", hint: "use another backup")
    }
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    let accounts = try directory.accounts()
    for account in accounts {
      let files = try AccountDatabase.files.open(account.folder, in: folder)
      defer { files.close() }
      // Their bytes are not in the backup; devices begin again.
      _ = try await files.write { try $0.execute("DELETE FROM Upload WHERE isFinished = 0") }
      // The marker names the folder that has the account's files, which now is this one.
      let marker = try await files.read { try FileTables(connection: $0).marker() }
      guard marker.isOnDisk else { continue }
      let parent = "\(draft)/accounts/\(account.folder)"
      try AccountFiles.mark(parent + "/files", in: parent, as: marker.text)
    }
    try await folder.startEpochs(directory, shipped: shipped)
    try directory.note(.restored(accounts: found.summary.accounts, files: found.summary.files))
    return found.summary
  }

  /// Starts a new epoch of every account, because the data may be older than data that was acknowledged before.
  /// - Throws: ``ServerError`` with `busy` while a server runs on the folder.
  /// - Returns: the number of accounts.
  @discardableResult
  public func startEpochs(_ directory: ServerDirectory, shipped: [Schema]) async throws -> Int {
    let hold = try holdForServing()
    defer { withExtendedLifetime(hold) {} }
    let accounts = try directory.accounts()
    let schemas = try directory.schemas(adding: [], shipped: shipped)
    let storage = try EmbeddedStorage(in: self, schemas: schemas, accounts: [])
    defer { storage.close() }
    for account in accounts { _ = try await storage.startEpoch(account) }
    try directory.note(.startedEpoch(accounts: accounts.count))
    return accounts.count
  }
}
