import Foundation
import PackagePlugin

/// Compiles the SQL schema of a target into Swift before the target is built.
///
/// The target's folder has a file `Schemas.txt` with one schema per line, in the order in which they are applied: its
/// folder, relative to the package, or `core` for FieldVault's own schema. The last schema is compiled. If each line
/// begins with `sql`, the target contains the SQL of all schemas, without Swift types.
@main
struct SchemaPlugin: BuildToolPlugin {
  struct Mistake: Error, CustomStringConvertible {
    let description: String
  }

  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let list = list(of: target, in: context.package) else {
      throw Mistake(
        description: "the target \(target.name) has no Schemas.txt; list the folders of its schemas there, one per line"
      )
    }
    let text = try String(contentsOf: list, encoding: .utf8)
    let folders = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter {
      !$0.isEmpty && !$0.hasPrefix("#")
    }
    guard let last = folders.last else {
      throw Mistake(description: "\(list.path):1: error: no schema is listed")
    }
    let embedded = folders.filter { $0.hasPrefix("sql ") }.map { String($0.dropFirst(4)) }
    guard embedded.isEmpty || embedded.count == folders.count else {
      throw Mistake(description: "\(list.path):1: error: either all lines or no line must begin with 'sql'")
    }
    if !embedded.isEmpty { return [try embed(embedded, list, target, context)] }
    var arguments: [String] = []
    var inputs = [list]
    var outputs: [URL] = []
    let output = context.pluginWorkDirectoryURL
    for folder in folders {
      let url = try location(of: folder, context)
      let name = url.lastPathComponent
      let files = try sqlFiles(in: url)
      arguments += ["--schema", "\(name)=\(url.path)"]
      inputs += files
      guard folder == last else { continue }
      // Only the compiled schema depends on the queries.
      let queries = try sqlFiles(in: url.appending(path: "queries"))
      inputs += queries
      outputs += files.map { output.appending(path: $0.deletingPathExtension().lastPathComponent + ".swift") }
      outputs.append(output.appending(path: "Schema.swift"))
      outputs += queries.map {
        output.appending(path: "Queries_" + $0.deletingPathExtension().lastPathComponent + ".swift")
      }
      arguments += ["--emit", name, "--output", output.path]
    }
    return [
      .buildCommand(
        displayName: "Compiling the schema of \(target.name)",
        executable: try context.tool(named: "fieldvault-schema").url,
        arguments: arguments, inputFiles: inputs, outputFiles: outputs)
    ]
  }

  private func embed(
    _ folders: [String], _ list: URL, _ target: any Target, _ context: PluginContext
  ) throws -> Command {
    let output = context.pluginWorkDirectoryURL
    let locations = try folders.map { try location(of: $0, context) }
    let files = try locations.flatMap { try sqlFiles(in: $0) }
    return .buildCommand(
      displayName: "Carrying the SQL of \(target.name)", executable: try context.tool(named: "fieldvault-schema").url,
      arguments: locations.flatMap { ["--schema", "\($0.lastPathComponent)=\($0.path)"] }
        + ["--sql-only", "--output", output.path],
      inputFiles: [list] + files,
      outputFiles: locations.map { output.appending(path: "Schema_\($0.lastPathComponent).swift") })
  }

  /// The target's `Schemas.txt`, in the folder of one of its source files or above.
  private func list(of target: any Target, in package: Package) -> URL? {
    guard let sources = (target as? any SourceModuleTarget)?.sourceFiles else { return nil }
    for file in sources {
      var folder = file.url.deletingLastPathComponent()
      while folder.path.hasPrefix(package.directoryURL.path) {
        let list = folder.appending(path: "Schemas.txt")
        if FileManager.default.fileExists(atPath: list.path) { return list }
        folder = folder.deletingLastPathComponent()
      }
    }
    return nil
  }

  private func location(of folder: String, _ context: PluginContext) throws -> URL {
    guard folder == "core" else { return context.package.directoryURL.appending(path: folder) }
    return try fieldVault(context.package).directoryURL.appending(path: "Schema/core")
  }

  /// The package with the plugin: the built package, or one of its dependencies.
  private func fieldVault(_ package: Package) throws -> Package {
    var open = [package]
    while let next = open.popLast() {
      if FileManager.default.fileExists(atPath: next.directoryURL.appending(path: "Schema/core").path),
        next.displayName == "FieldVault"
      {
        return next
      }
      open += next.dependencies.map(\.package)
    }
    throw Mistake(description: "the package FieldVault, which provides the schema 'core', is not a dependency")
  }

  private func sqlFiles(in folder: URL) throws -> [URL] {
    guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
    return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).filter {
      $0.pathExtension == "sql"
    }.sorted { $0.path < $1.path }
  }
}
