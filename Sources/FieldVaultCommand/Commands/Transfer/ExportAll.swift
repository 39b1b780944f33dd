import CommandLineKit
import Platform
import VaultStore

/// Whether the user or the system has asked the command to stop. Decrypted files must not remain then.
final class StopRequest: Sendable {
  private let isStopped = Locked(false)

  init() { Signals.onStop { [isStopped] _ in isStopped.withLock { $0 = true } } }

  /// - Throws: `CancellationError` after a request.
  func check() throws { if isStopped.withLock({ $0 }) { throw CancellationError() } }
}

/// `fieldvault export --all`: all records and files, decrypted, in the layout of `fieldvault account export`.
enum ExportAll {
  static func run(to place: String, _ context: CommandContext) throws {
    let warning = "The files in \(place) are not encrypted. Protect them, and delete them when they are not needed."
    let vault = try context.openVault()
    if !context.arguments.flag("yes") {
      guard context.canAsk else {
        throw VaultError(
          .refused, "an export of all records is not encrypted, so it needs a confirmation",
          hint: "run the command on a terminal, or add --yes")
      }
      try context.messages.line(escaped("All records and files of the vault are written to \(place), not encrypted."))
      guard try context.confirms("Export everything?") else {
        context.exitCode = .failed
        return context.hint("Nothing was exported.")
      }
    }
    let stop = StopRequest()
    let folder = try ExportFolder(at: place)
    let result: TransferResult
    do {
      result = try vault.exportAll(
        line: { text, file in
          try stop.check()
          try folder.append(text, to: file)
          if folder.lineCount % 10_000 == 0 { context.note("\(recordsText(folder.lineCount))") }
        },
        path: { file in
          try stop.check()
          return try folder.path(ofFile: file)
        })
      try folder.publish()
    } catch {
      folder.abandon()
      throw error
    }
    try result.tell("Exported", "to \(place)", in: place, context)
    if result.missing > 0 {
      try context.messages.line(
        "\(filesText(result.missing)) could not be exported: not on this device, or damaged. See 'fieldvault attach verify'."
      )
    }
    try context.messages.line(escaped(warning))
    try context.messages.flush()
  }
}

/// `fieldvault import --all`: all records and files of an exported folder.
enum ImportAll {
  static func run(from place: String, _ context: CommandContext) throws {
    for name in ["map", "set", "null", "format", "skip-invalid"] + ImportCommand.databaseOptions
    where context.arguments.isGiven(name) {
      throw context.arguments.mistake(
        "--\(name) does not apply to a whole folder", about: name,
        hint: "import one file: fieldvault import ENTITY \(place)/ENTITY.ndjson")
    }
    let vault = try context.openVault(separatingReads: true)
    let progress = ProgressLine(
      "Importing \(place)", total: 0, unit: .bytes, terminal: context.messages.terminal, isQuiet: context.isQuiet)
    defer { progress.clear() }
    let stop = StopRequest()
    let result = try vault.importAll(from: place) { bytes in
      try stop.check()
      progress.advance(by: bytes)
    }
    progress.clear()
    try result.tell("Imported", "from \(place)", in: place, context)
    if result.present > 0 { try context.tell("The vault had \(recordsText(result.present)) already.") }
    if result.missing > 0 {
      try context.messages.line(
        "\(filesText(result.missing)) are not in the folder. Their records were imported; a sync fetches what the server has."
      )
      try context.messages.flush()
    }
  }
}

extension TransferResult {
  /// Writes the result.
  fileprivate func tell(_ verb: String, _ direction: String, in folder: String, _ context: CommandContext) throws {
    guard context.isJSON else {
      return try context.tell("\(verb) \(recordsText(records)) and \(filesText(files)) \(direction).")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("folder", folder)
      json.key("entities")
      json.beginArray()
      for entity in entities {
        json.beginObject()
        json.member("entity", entity.entityType)
        json.member("records", entity.records)
        json.endObject()
      }
      json.endArray()
      json.member("files", files)
      json.member("missing", missing)
      json.member("present", present)
      json.endObject()
    }
  }
}
