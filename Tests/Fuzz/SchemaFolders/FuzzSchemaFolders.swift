import CipherSQL
import FuzzSupport
import VaultStore
import SchemaCompiler

/// A folder of SQL files is refused with a typed error, or compiles to the same text each time and makes a vault's tables. The
/// input is the files, a zero byte between them; the first byte of each is the number in its name, or `q` for named queries.
@main
enum FuzzSchemaFolders: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    // A schema is a program of its author: it may take for ever.
    guard !String(decoding: bytes, as: UTF8.self).lowercased().contains("recursive") else { return }
    var names: [String] = []
    for (index, file) in bytes.split(separator: 0).prefix(4).enumerated() {
      guard let first = file.first else { continue }
      let name = first == UInt8(ascii: "q") ? "queries/q\(index).sql" : "000\(Int(first) & 7)_part\(index).sql"
      names.append(scratch.write(Array(file.dropFirst()), to: name))
    }
    defer { for name in names { scratch.remove(String(name.dropFirst(scratch.path.count + 1))) } }
    load()
    compile()
  }

  private static func load() {
    do {
      let schema = try Schema.load(folder: scratch.path, name: "fuzz")
      require(schema.migrations.map(\.version) == Array(1...schema.migrations.count), "versions have no gap")
      for file in schema.migrations {
        require(Array(file.sql.utf8) == scratch.content(of: file.fileName), "\(file.fileName) is read as it is")
      }
      try Vault.migrator(for: [schema]).apply(to: try Database.inMemory())
    } catch is SQLError {
    } catch is VaultError {
    } catch {
      fatalError("a schema fails with another error: \(error)")
    }
  }

  private static func compile() {
    let compiler = SchemaCompiler(sources: [.init(name: "fuzz", folder: scratch.path)], emitting: "fuzz")
    do {
      let output = try compiler.compile()
      require(try compiler.compile() == output, "the same files give the same text")
      require(Set(output.map(\.name)).count == output.count, "each file has a name of its own")
    } catch let problems as CompilerProblems {
      require(!problems.problems.isEmpty, "a refusal says why")
    } catch {
      fatalError("compiling fails with another error: \(error)")
    }
  }

  private static let scratch: ScratchFolder = {
    let folder = ScratchFolder()
    folder.makeFolder("queries")
    return folder
  }()
}
