import CipherSQL
import CommandLineKit
import Platform
import VaultStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

enum SchemaNewCommand: ProgramCommand {
  static let description = CommandDescription(
    "new", summary: "write a new schema folder",
    discussion: """
      Writes the tables, the rows of the registry, an example of a named query and a README to a new folder, whose name is \
      that of the schema. Vaults and servers load the folder as it is. An entity is a name in upper camel case, or a name \
      with fields: Reading:value=REAL,unit,stationId=Station. A field without a type is TEXT. The types are \
      \(EntityDraft.FieldType.names), and the name of another given entity for a reference. An entity without fields gets \
      an example field. Edit the files before a vault or a server loads them; a later change needs another file. The command \
      needs no vault.
      """,
    arguments: [
      .required("NAME", "the folder, which must not exist", completion: .folder),
      .oneOrMore("ENTITY", "an entity, such as Reading or Reading:value=REAL,unit"),
    ],
    examples: [
      Example("fieldvault schema new stations Station Reading", "write a schema with two entities"),
      Example(
        "fieldvault schema new stations Station:title,position=JSON Reading:stationId=Station,takenAt=TIME,value=REAL",
        "write a schema with fields and a reference"),
    ],
    exitCodes: [.done, .failed, .usage, .noSpace, .refused])

  static func run(_ context: CommandContext) throws {
    let path = try context.arguments.required("NAME")
    let folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    let name = try schemaName(folder, context)
    let entities: [EntityDraft]
    do {
      entities = try EntityDraft.parse(context.arguments.values("ENTITY"))
    } catch {
      throw context.arguments.mistake(error.message, about: "ENTITY", hint: error.hint)
    }
    guard !Files.exists(folder) else {
      throw VaultError(.alreadyExists, "\(folder) already exists", hint: "choose another name; nothing is overwritten")
    }
    let draft = SchemaDraft(name: name, entities: entities)
    try write(draft, to: folder)
    let files = draft.files.map { "\(folder)/\($0.path)" }
    if context.isJSON {
      return try context.writeJSON { json in
        json.beginObject()
        json.key("files")
        json.beginArray()
        for file in files { json.value(file) }
        json.endArray()
        json.endObject()
      }
    }
    try context.tell("Created the schema \(name):")
    for file in files { try context.tell("  " + file) }
    let place = folder.hasPrefix("/") || folder.hasPrefix(".") ? folder : "./" + folder
    context.hint("Edit the files, then create a vault: fieldvault init --schema \(place) --vault \(name).vault")
  }

  /// Returns the name of the schema in a folder.
  private static func schemaName(_ folder: String, _ context: CommandContext) throws -> String {
    let name = Files.name(of: folder)
    guard let first = name.utf8.first, (0x61...0x7a).contains(first), name.utf8.count <= 64,
      name.utf8.allSatisfy({ (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f || $0 == 0x2d })
    else {
      throw context.arguments.mistake(
        "'\(escaped(name))' is not the name of a schema", about: "NAME",
        hint: "use at most 64 lowercase letters, digits, hyphens and underscores, such as 'stations'")
    }
    let reserved = [CoreSchema.schema.name] + CommandContext.shippedSchemas.map(\.name)
    guard !reserved.contains(name) else {
      throw context.arguments.mistake(
        "the name '\(name)' is that of a shipped schema", about: "NAME", hint: "use another name, such as 'my-\(name)'")
    }
    return name
  }

  /// Writes the files to a draft folder, loads them, and renames the folder.
  private static func write(_ draft: SchemaDraft, to folder: String) throws {
    let place = "\(Files.parent(of: folder))/.\(draft.name)-\(UUID.version7().sqlText).part"
    do {
      try makeFolder(place)
      for file in draft.files {
        let path = "\(place)/\(file.path)"
        let parent = Files.parent(of: path)
        if !Files.exists(parent) { try makeFolder(parent) }
        let created = try OpenFile(creating: path)
        try created.write(Array(file.text.utf8))
        try created.synchronize()
        try share(path, 0o644)
      }
      try check(draft, in: place)
      for subfolder in Set(draft.files.map { Files.parent(of: "\(place)/\($0.path)") }) {
        try Files.syncFolder(subfolder)
      }
      try Files.rename(place, to: folder)
      try Files.syncFolder(Files.parent(of: folder))
    } catch {
      // The failure of the writing counts.
      if Files.exists(place) { try? Files.removeTree(place) }
      throw error
    }
  }

  private static func makeFolder(_ path: String) throws(FileError) {
    try Files.makeFolder(path)
    try share(path, 0o755)
  }

  /// Gives a file the mode of the user's other files. A schema is no secret, and a server may run as another user.
  private static func share(_ path: String, _ mode: mode_t) throws(FileError) {
    let mask = umask(0)
    umask(mask)
    guard chmod(path, mode & ~mask) == 0 else { throw .last("set the mode of", path) }
  }

  /// Applies the files to a database in memory.
  private static func check(_ draft: SchemaDraft, in place: String) throws {
    let schema = try Schema.load(folder: place, name: draft.name)
    try Migrator.records(of: [schema]).apply(to: Database.inMemory())
  }
}
