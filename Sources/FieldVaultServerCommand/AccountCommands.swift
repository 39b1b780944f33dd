import CipherSQL
import CommandLineKit
import FileServer
import PostgresStorage
import SQLCipherStorage
import ServerStorage
import ShippedSchemas
import SyncModel
import SyncServer

enum AccountListCommand {
  static func run(_ context: CommandContext) throws {
    let accounts = try context.withDirectory(isCreating: false) { try $0.listedAccounts() }
    guard context.isJSON else { return try writeTable(accounts, context) }
    try context.writeJSON { json in
      json.beginArray()
      for account in accounts {
        json.beginObject()
        json.member("name", account.account.name)
        json.member("folder", account.account.folder)
        json.member("users", account.users)
        json.member("createdAt", account.createdAt)
        json.member("membership", account.limitsToMembers)
        json.endObject()
      }
      json.endArray()
    }
  }

  private static func writeTable(_ accounts: [ListedAccount], _ context: CommandContext) throws {
    if accounts.isEmpty { return context.note("no accounts") }
    var table = TextTable(["name", "users", "added", "membership", "folder"])
    for account in accounts {
      table.add([
        account.account.name, String(account.users), account.createdAt, account.limitsToMembers ? "on" : "off",
        account.account.folder,
      ])
    }
    try context.output.write(table.text(for: context.output.terminal))
  }
}

enum AccountMembershipCommand {
  static func run(_ context: CommandContext, isLimited: Bool) throws {
    let account = try context.arguments.required("ACCOUNT")
    let users = try context.withDirectory(isCreating: false) { try $0.setMembership(isLimited, of: account) }
    guard context.isJSON else {
      guard isLimited else { return context.note("every user of the account sees all of its records") }
      context.note("devices of the account see only the projects of which their users are members")
      if !users.isEmpty {
        context.note(
          "users without a record, whom no membership can name: \(users.map(escaped).joined(separator: ", "))")
      }
      return
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("membership", isLimited)
      json.key("usersWithoutRecord")
      json.beginArray()
      for user in users { json.value(user) }
      json.endArray()
      json.endObject()
    }
  }
}

extension CommandContext {
  /// Runs a closure with the data of the server.
  fileprivate func withSource<Result>(
    _ body: (FieldVaultServer.Source, any AccountDirectory) async throws -> Result
  ) async throws -> Result {
    guard let settings = try sealedDatabaseSettings() else {
      let folder = try folder(isCreating: false)
      let directory = try ServerDirectory(in: folder)
      defer { directory.close() }
      return try await body(.folder(folder), directory)
    }
    let database = try PostgresDatabase(settings)
    defer { database.close() }
    return try await body(.database(database, scratch: "/tmp"), PostgresDirectory(database))
  }
}

enum AccountExportCommand {
  static func run(_ context: CommandContext) async throws {
    let (place, name) = (try context.arguments.required("DIR"), try context.arguments.required("ACCOUNT"))
    let objectStore = try ServeSettings.objectStore(context.arguments)
    let (folder, missing, files) = try await context.withSource { source, directory in
      let data = try AccountExportSource(
        name, of: source, directory: directory, shipped: Schema.shipped, objectStore: objectStore)
      defer { data.close() }
      let folder = try ExportFolder(at: place)
      do {
        let export = try await writeRecords(of: data, to: folder)
        var (missing, files) = (0, 0)
        for file in export.files {
          if try await data.copy(file, to: folder.path(ofFile: file.name)) {
            files += 1
          } else if !file.isThumbnail {
            missing += 1
          }
        }
        try folder.publish()
        return (folder, missing, files)
      } catch {
        folder.abandon()
        throw error
      }
    }
    guard context.isJSON else {
      try context.output.line(place)
      context.note("\(folder.lineCount) records and \(files) files")
      if missing > 0 { context.line("\(missing) files are missing on the server, or encrypted with an unknown key") }
      return context.line(
        "the files in \(escaped(place)) are not encrypted; protect them, and delete them when they are not needed")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("folder", place)
      json.member("records", folder.lineCount)
      json.member("files", files)
      json.member("missing", missing)
      json.endObject()
    }
    context.line(
      "the files in \(escaped(place)) are not encrypted; protect them, and delete them when they are not needed")
  }

  private static func writeRecords(of data: AccountExportSource, to folder: ExportFolder) async throws -> AccountExport
  {
    var export = AccountExport()
    var cursor: String?
    repeat {
      let page = try await data.page(after: cursor)
      for line in export.take(page) { try folder.append(line.text, to: line.file) }
      cursor = page.page.hasMore ? page.page.cursor : nil
    } while cursor != nil
    for file in export.filesToFilter { try folder.filter(file) { try export.keeps($0, of: file) } }
    return export
  }
}

enum AccountDeleteCommand {
  static func run(_ context: CommandContext) async throws {
    let name = try context.arguments.required("ACCOUNT")
    try await context.withSource { try await delete(name, $0, $1, context) }
  }

  private static func delete(
    _ name: String, _ source: FieldVaultServer.Source, _ directory: any AccountDirectory, _ context: CommandContext
  ) async throws {
    let deletions = AccountDeletions(source, directory: directory)
    defer { deletions.close() }
    let (account, contents) = try await deletions.begin(name, by: nil)
    let isDone = try await deletions.remove(account)
    guard context.isJSON else {
      context.note("removed \(contents.rows) rows, \(contents.files) files and \(contents.responses) responses")
      if !isDone {
        context.line("the server removes the files of the account from the object store within a quarter of an hour")
      }
      return
    }
    try context.writeJSON { json in
      json.beginObject()
      json.key("deleted")
      json.beginObject()
      json.member("rows", contents.rows)
      json.member("files", contents.files)
      json.member("responses", contents.responses)
      json.endObject()
      json.member("finished", isDone)
      json.endObject()
    }
  }
}

extension ServerProgram {
  static let account = CommandDescription(
    "account", group: "Users", summary: "show, export and delete accounts, and limit what their users see",
    exitCodes: codes,
    subcommands: [
      CommandDescription(
        "list", aliases: ["ls"], summary: "list all accounts with the folders by which the log names them",
        options: sourceOptions,
        examples: [Example("fieldvault-server account list --data data --json", "as JSON")], exitCodes: codes),
      CommandDescription(
        "export", summary: "write all records and files of an account to a new folder, decrypted",
        discussion: """
          The folder gets a file of NDJSON for each entity and the folder 'files', also while servers run. Records of a page are read \
          at one time, and a record that changes meanwhile is written as it is at the end. Files in an object store require the \
          options of the store. The folder appears when it is complete.
          """,
        arguments: [
          .required("DIR", "the folder, missing or empty", completion: .folder), .required("ACCOUNT", "the account"),
        ], options: sourceOptions + [sealKeyOption] + objectStoreOptions, choices: oneSource,
        examples: [Example("fieldvault-server account export water-export water --data data", "")],
        exitCodes: codes + [refused]),
      CommandDescription(
        "delete", summary: "delete an account with all of its data, for good",
        discussion: """
          Removes the records, files, stored responses, devices, users and tokens of the account, also while servers run. Its tokens \
          are refused at once. The command asks no question, and can be repeated after an error. Files in an object store are removed \
          by the server. Backups keep their copies.
          """,
        arguments: [.required("ACCOUNT", "the account")], options: sourceOptions, choices: oneSource,
        examples: [Example("fieldvault-server account delete water --data data", "")], exitCodes: codes),
      CommandDescription(
        "membership", summary: "limit devices to the projects of which their users are members",
        subcommands: [
          CommandDescription(
            "on", summary: "limit the devices of an account, effective immediately",
            discussion: """
              The schema names the records that make a user a member of a project, such as the crew of a project; 'user link' \
              names the record of each user. The creator of a project is its member until it has the first such record. Users \
              without a record are listed. Tokens with the roles service and admin are not limited.
              """,
            arguments: [.required("ACCOUNT", "the account")], options: sourceOptions, choices: oneSource,
            examples: [Example("fieldvault-server account membership on water --data data", "")], exitCodes: codes),
          CommandDescription(
            "off", summary: "show each user all records of the account again",
            arguments: [.required("ACCOUNT", "the account")], options: sourceOptions, choices: oneSource,
            examples: [Example("fieldvault-server account membership off water --data data", "")], exitCodes: codes),
        ]),
    ])
}
