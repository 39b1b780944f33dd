import CipherSQL
import CommandLineKit
import Platform
import PostgresStorage
import SQLCipherStorage
import ShippedSchemas
import SyncServer

enum BackupCommand {
  static func run(_ context: CommandContext) throws {
    let target = try context.arguments.required("FILE")
    let count = try context.arguments.integer("keep", in: 1...10_000)
    if count == nil, Files.isFolder(target) {
      throw context.arguments.mistake(
        "\(target) is a folder", about: "FILE", hint: "name a new file, or give --keep N for a folder of backups")
    }
    if count != nil, !Files.isFolder(target) {
      throw context.arguments.mistake(
        "\(target) is no folder", about: "FILE", hint: "--keep requires a folder of backups")
    }
    let data = try context.folder(isCreating: false)
    let (file, summary, removed) =
      if let count { try data.backUp(into: target, keeping: count) } else { (target, try data.backUp(to: target), []) }
    guard context.isJSON else {
      try context.output.line(file)
      context.note("\(counted(summary.accounts, "account")), \(counted(summary.files, "file")), \(summary.bytes) bytes")
      for old in removed { context.note("removed \(old)") }
      if summary.missing > 0 {
        context.line("missing on the server and therefore not in the backup: \(counted(summary.missing, "file"))")
      }
      return
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("file", file)
      json.member("bytes", Int(summary.bytes))
      json.member("accounts", summary.accounts)
      json.member("files", summary.files)
      json.member("missing", summary.missing)
      json.key("removed")
      json.beginArray()
      for old in removed { json.value(old) }
      json.endArray()
      json.endObject()
    }
  }
}

enum RestoreCommand {
  static func run(_ context: CommandContext) async throws {
    let data = try context.dataFolder()
    let summary = try await ServerFolder.restore(
      try context.arguments.required("FILE"), to: data, keyFile: context.arguments.value("key-file"),
      shipped: Schema.shipped)
    guard context.isJSON else {
      try context.output.line(data)
      context.note(
        "\(counted(summary.accounts, "account")) and \(counted(summary.files, "file")); "
          + "devices compare all records at the next sync")
      if summary.missing > 0 {
        context.line("missing: \(counted(summary.missing, "file")); devices upload the files that they have again")
      }
      return
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("data", data)
      json.member("accounts", summary.accounts)
      json.member("files", summary.files)
      json.member("missing", summary.missing)
      json.endObject()
    }
  }
}

enum VerifyCommand {
  /// - Returns: whether everything is intact.
  static func run(_ context: CommandContext) throws -> Bool {
    let (summary, findings) = try context.folder(isCreating: false).verify()
    guard context.isJSON else {
      for finding in findings { try context.output.line(escaped(finding.message)) }
      if findings.isEmpty {
        context.note("\(counted(summary.accounts, "account")) and \(counted(summary.files, "file")) are intact")
      }
      return findings.isEmpty
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("ok", findings.isEmpty)
      json.key("findings")
      json.beginArray()
      for finding in findings {
        json.beginObject()
        json.member("file", finding.file)
        json.member("message", finding.message)
        json.endObject()
      }
      json.endArray()
      json.endObject()
    }
    return findings.isEmpty
  }
}

enum EpochNewCommand {
  static func run(_ context: CommandContext) async throws {
    let accounts = try await startEpochs(context)
    guard context.isJSON else {
      return context.note(
        "new epoch for \(counted(accounts, "account")); devices compare all records at their next sync")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("accounts", accounts)
      json.endObject()
    }
  }

  /// Returns the number of accounts.
  private static func startEpochs(_ context: CommandContext) async throws -> Int {
    if let settings = try context.databaseSettings() {
      let database = try PostgresDatabase(settings)
      defer { database.close() }
      return try PostgresDirectory(database).startIncarnation()
    }
    let folder = try context.folder(isCreating: false)
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    return try await folder.startEpochs(directory, shipped: Schema.shipped)
  }
}
