import Foundation
import TestSupport
import Testing

@testable import SchemaCompiler

/// A schema folder made of texts, removed again when the test ends.
final class SchemaFolder {
  private let folder: TemporaryFolder
  let path: String

  init(_ files: [String: String], named name: String = "shop") throws {
    folder = try TemporaryFolder()
    path = folder.file(name)
    for (file, text) in files { try folder.write(text, to: "\(name)/\(file)") }
  }

  func compile() throws -> [String: String] {
    let outputs = try SchemaCompiler(sources: [.init(name: "shop", folder: path)], emitting: "shop").compile()
    return Dictionary(uniqueKeysWithValues: outputs.map { ($0.name, $0.text) })
  }

  /// The mistakes of a compilation, with paths relative to the folder.
  func mistakes() throws -> [String] {
    do {
      _ = try compile()
      return []
    } catch let error as CompilerProblems {
      return error.problems.map { $0.description.replacingOccurrences(of: path + "/", with: "") }
    }
  }
}

extension String {
  /// The part of a text from one line up to another, for expectations that stand in the test.
  func part(from first: String, upTo last: String) -> String {
    let lines = split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard let start = lines.firstIndex(where: { $0.contains(first) }) else { return "no line holds \(first)" }
    guard let end = lines[(start + 1)...].firstIndex(where: { $0.contains(last) }) else {
      return "no line holds \(last)"
    }
    return lines[start..<end].joined(separator: "\n")
  }
}
