#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Schema {
  /// Reads a folder of files named `NNNN_what_it_does.sql`, numbered from 0001 without a gap. Other files and folders
  /// are ignored.
  /// - Parameter name: the name of the schema; `nil` for the name of the folder.
  /// - Throws: ``SQLError`` with `migration` that names the file and the problem.
  public static func load(folder: String, name: String? = nil) throws -> Schema {
    let files = try sqlFiles(in: folder)
    guard !files.isEmpty else {
      throw SQLError(
        .migration, "\(folder) contains no .sql file", hint: "name its files 0001_what_it_does.sql, 0002_...")
    }
    var migrations: [MigrationFile] = []
    for file in files {
      let path = folder + "/" + file
      guard let (version, title) = parts(of: file) else {
        throw SQLError(
          .migration, "\(path): the name is not NNNN_what_it_does.sql",
          hint: "use four digits, an underscore, then lowercase letters, digits and underscores")
      }
      if let twin = migrations.first(where: { $0.version == version }) {
        throw SQLError(
          .migration, "\(path): version \(version) appears twice, also in \(twin.fileName)",
          hint: "give one of them the next free number")
      }
      migrations.append(MigrationFile(version: version, name: title, sql: try text(of: path)))
    }
    migrations.sort { $0.version < $1.version }
    for (index, file) in migrations.enumerated() where file.version != index + 1 {
      throw SQLError(
        .migration, "\(folder)/\(file.fileName): version \(index + 1) is missing before it",
        hint: "number the files 0001, 0002, ... without a gap")
    }
    return Schema(name: name ?? Files.name(of: folder), migrations: migrations)
  }

  /// Returns the names of the SQL files in a folder, in order.
  public static func sqlFiles(in folder: String) throws -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".sql") }.sorted()
    } catch {
      throw SQLError(.migration, "cannot read the folder \(folder)", hint: "check the path")
    }
  }

  /// Returns the text of a file.
  public static func text(of path: String) throws -> String {
    // A device or a pipe may have no end.
    guard isRegularFile(path), let data = FileManager.default.contents(atPath: path) else {
      throw SQLError(.migration, "cannot read \(path)", hint: "check the permissions of the file")
    }
    if let text = String(validating: data, as: UTF8.self) { return text }
    let line = data.split(separator: 0x0a, omittingEmptySubsequences: false).firstIndex {
      String(validating: $0, as: UTF8.self) == nil
    }
    throw SQLError(.migration, "\(path):\((line ?? 0) + 1): not valid UTF-8", hint: "save the file as UTF-8")
  }

  private static func isRegularFile(_ path: String) -> Bool {
    let target = URL(filePath: path).resolvingSymlinksInPath().path
    do {
      return try FileManager.default.attributesOfItem(atPath: target)[.type] as? FileAttributeType == .typeRegular
    } catch {
      return false
    }
  }

  private static func parts(of file: String) -> (version: Int, name: String)? {
    let stem = file.dropLast(4)
    guard let underscore = stem.firstIndex(of: "_") else { return nil }
    let (digits, name) = (stem[..<underscore], stem[stem.index(after: underscore)...])
    let isName =
      !name.isEmpty
      && name.utf8.allSatisfy { byte in
        (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x5f
      }
    guard digits.utf8.count >= 4, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), isName,
      let version = Int(digits), version > 0
    else { return nil }
    return (version, String(name))
  }
}
