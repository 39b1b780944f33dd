import CommandLineKit
import FileTransfers
import HTTPClient
import Platform
import SyncEngine
import SyncModel
import VaultStore

/// The changes and files that the server does not have.
private struct UnsentWork {
  private let entities: [(type: String, records: Int)]
  private let files: Int

  init(of vault: Vault) throws {
    entities = try vault.status().entities.filter { $0.dirty > 0 }.map { ($0.entityType, $0.dirty) }
    files = try vault.attachmentUsage().waiting
  }

  var isEmpty: Bool { entities.isEmpty && files == 0 }

  /// `2 Room, 1 Note, 3 files`
  var text: String {
    (entities.map { "\(countText($0.records)) \($0.type)" } + (files > 0 ? [filesText(files)] : [])).joined(
      separator: ", ")
  }

  /// Writes the members `unsent` and `unsentFiles`.
  func write(to json: inout JSONWriter) {
    json.key("unsent")
    json.beginArray()
    for entity in entities {
      json.beginObject()
      json.member("entityType", entity.type)
      json.member("records", entity.records)
      json.endObject()
    }
    json.endArray()
    json.member("unsentFiles", files)
  }
}

enum LogoutCommand: ProgramCommand {
  static let description = CommandDescription(
    "logout", group: "Sync", summary: "delete the token, after listing unsent work",
    discussion: """
      Unsent changes stay in the vault and are sent after the next login to the same account. Unreferenced reference \
      data is removed and fetched again after the next login. If there are unsent changes, the command asks first; \
      without a terminal it requires --yes.
      """,
    options: [.flag("yes", short: "y", "log out even if there are unsent changes")],
    examples: [Example("fieldvault logout", "log out at the end of a job")],
    exitCodes: usual + [.refused])

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let unsent = try UnsentWork(of: vault)
    let names = unsent.text
    if !unsent.isEmpty, !context.arguments.flag("yes") {
      guard context.canAsk else {
        throw VaultError(
          .refused, "unsent changes: \(names)",
          hint: "run 'fieldvault sync', or log out with --yes: unsent changes stay here until the next login")
      }
      try context.messages.line("Unsent changes: \(names). They stay here and are sent after the next login.")
      guard try context.confirms("Log out?") else {
        context.exitCode = .failed
        return context.hint("Still logged in.")
      }
    }
    let cleared = try vault.logout()
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.member("cleared", cleared)
        unsent.write(to: &json)
        json.endObject()
      }
    }
    try context.tell("Logged out." + (unsent.isEmpty ? "" : " Unsent changes: \(names)."))
    if cleared > 0 {
      try context.tell("Removed \(recordsText(cleared)) of reference data; the next login fetches them again.")
    }
    if let url = try vault.remote()?.url { context.hint("To log in: fieldvault remote set \(url) --token-file FILE") }
  }
}

enum AccountExportCommand: ProgramCommand {
  static let description = CommandDescription(
    "export", summary: "write the account's records and files on the server to a new folder, decrypted",
    discussion: """
      Writes everything that the user may see on the server: a file of NDJSON for each entity, and the folder 'files'. Each file of \
      NDJSON can be read with 'fieldvault import'. Unsent changes of this vault are not included. The folder appears when it is \
      complete, and its files are not encrypted.
      """,
    arguments: [.required("DIR", "the folder, missing or empty", completion: .folder)],
    examples: [Example("fieldvault account export my-data", "")],
    exitCodes: usual + [.noSpace, .offline, .credentials])

  static func run(_ context: CommandContext) throws {
    let place = try context.arguments.required("DIR")
    let vault = try context.openVault()
    let remote = try Server.account(of: vault)
    let folder = try ExportFolder(at: place)
    let result: (files: Int, missing: Int)
    do {
      result = try write(remote, to: folder, context)
      try folder.publish()
    } catch {
      folder.abandon()
      throw error
    }
    let warning = "The files in \(place) are not encrypted. Protect them, and delete them when they are not needed."
    if context.isJSON {
      try context.writeJSON { json in
        json.beginObject()
        json.member("folder", place)
        json.member("records", folder.lineCount)
        json.member("files", result.files)
        json.member("missing", result.missing)
        json.endObject()
      }
    } else {
      try context.tell("Exported \(recordsText(folder.lineCount)) and \(filesText(result.files)) to \(place).")
    }
    if result.missing > 0 {
      try context.messages.line(
        "\(filesText(result.missing)) are missing on the server, or encrypted with another key.")
    }
    try context.messages.line(escaped(warning))
    try context.messages.flush()
  }

  private static func write(
    _ remote: FieldVaultRemote, to folder: ExportFolder, _ context: CommandContext
  ) throws -> (files: Int, missing: Int) {
    var export = AccountExport()
    var cursor: String?
    repeat {
      let page = try Waiting.run { [cursor] in try await Self.page(of: remote, after: cursor) }
      guard page.page.removedProjects.isEmpty else { throw changed("the user has lost a project") }
      for line in export.take(page) { try folder.append(line.text, to: line.file) }
      cursor = page.page.hasMore ? page.page.cursor : nil
      context.note("\(recordsText(folder.lineCount))")
    } while cursor != nil
    for file in export.filesToFilter { try folder.filter(file) { try export.keeps($0, of: file) } }
    var (files, missing) = (0, 0)
    for file in export.files {
      let path = try folder.path(ofFile: file.name)
      if try Waiting.run({ try await Self.fetch(file, from: remote, to: path) }) {
        files += 1
      } else {
        try Files.removeTree(path + ".part")
        // A file need not have a small picture.
        if !file.isThumbnail { missing += 1 }
      }
    }
    return (files, missing)
  }

  private static func changed(_ reason: String) -> VaultError {
    VaultError(.refused, "\(reason) during the export; nothing was written", hint: "run the command again")
  }

  /// The number of times that a request is repeated, and the longest delay that the server may ask for, in seconds.
  private static let (repetitions, longestPause) = (5, 60)

  private static func page(of remote: FieldVaultRemote, after cursor: String?) async throws -> AccountExportPage {
    for _ in 0..<repetitions {
      do throws(RemoteFailure) {
        return try await remote.exportPage(after: cursor)
      } catch {
        if error.responseClass == .cursorUnknown {
          throw changed("the memberships or the history of the account changed")
        }
        guard let seconds = error.retryAfterSeconds, seconds <= longestPause else { throw error }
        try await Clock.system.sleep(.seconds(seconds))
      }
    }
    return try await remote.exportPage(after: cursor)
  }

  /// - Returns: `false` if the server does not have the file, or its key does not open it.
  private static func fetch(
    _ file: AccountExport.File, from remote: FieldVaultRemote, to path: String
  ) async throws -> Bool {
    let name = FileName(contentUuid: file.contentUuid, variant: file.isThumbnail ? .thumbnail : .full)
    for attempt in 0...repetitions {
      do throws(DownloadProblem) {
        try await remote.files?.fetchContent(name, key: file.key, to: path)
        return true
      } catch {
        switch error {
        case .absent, .damaged: return false
        case .later(let seconds) where attempt < repetitions && seconds ?? 1 <= longestPause:
          try await Clock.system.sleep(.seconds(seconds ?? 1))
        default: throw failure(error)
        }
      }
    }
    return false
  }

  private static func failure(_ problem: DownloadProblem) -> any Error {
    switch problem {
    case .transport(let failure), .storeNotReached(let failure): RemoteFailure(failure)
    case .credentials:
      RemoteFailure(.pauseCredentials, message: "the server does not accept the token for files", remedy: .setRemote)
    case .notWritten: VaultError(.cannotWrite, "a file could not be written", hint: "check the free disk space")
    default:
      RemoteFailure(
        .attempt, message: "a file could not be downloaded",
        hint: "run the command again; if it fails again, check the server's log")
    }
  }
}

enum AccountDeleteCommand: ProgramCommand {
  static let description = CommandDescription(
    "delete", summary: "delete the account with all of its data on the server, for good",
    discussion: """
      Removes the records, files, users and tokens of the whole account from the server. The server requires a token with the role \
      admin, or the token of the account's only user. The vault keeps its records and files, and forgets the token as after \
      'logout'. The command asks first; without a terminal it requires --yes.
      """,
    options: [.flag("yes", short: "y", "delete the account without a question")],
    examples: [Example("fieldvault account delete", "")],
    exitCodes: usual + [.offline, .refused, .credentials])

  static func run(_ context: CommandContext) throws {
    let vault = try context.openVault()
    let remote = try Server.account(of: vault)
    let name = try Waiting.run { try await remote.account() }.account
    let unsent = try UnsentWork(of: vault)
    if !context.arguments.flag("yes") {
      guard context.canAsk else {
        throw VaultError(
          .refused,
          "the account \(name) is deleted only after a question"
            + (unsent.isEmpty ? "" : "; unsent changes: \(unsent.text)"),
          hint:
            "run the command on a terminal, or add --yes; first export the data with 'fieldvault account export DIR'")
      }
      try context.messages.line(
        escaped(
          "All records, files and users of the account \(name) are removed from the server, for good. This vault keeps its records and files."
        ))
      if !unsent.isEmpty { try context.messages.line("Unsent changes, which the server never gets: \(unsent.text).") }
      guard try context.confirms("Delete the account?") else {
        context.exitCode = .failed
        return context.hint("The account was not deleted.")
      }
    }
    let deleted = try Waiting.run { try await remote.deleteAccount() }
    _ = try vault.logout(keepsReferenceData: true)
    guard context.isJSON else {
      try context.tell(
        "Deleted the account \(name): \(countText(Int(deleted.rows))) rows, \(filesText(Int(deleted.files))) and \(countText(Int(deleted.responses))) responses."
      )
      return try context.tell("Logged out. The records and files of this vault stay here.")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.key("deleted")
      json.beginObject()
      json.member("rows", Int(deleted.rows))
      json.member("files", Int(deleted.files))
      json.member("responses", Int(deleted.responses))
      json.endObject()
      unsent.write(to: &json)
      json.endObject()
    }
  }
}
