import Foundation

/// The folder of one run: `root/vault` is the victim, the other files stand beside `root`.
struct Place {
  let folder: String
  let keyFile: String
  let programs: Programs

  var root: String { folder + "/root" }
  var vault: String { root + "/vault" }
  var output: String { folder + "/output" }
  var errors: String { folder + "/errors" }
  var spare: String { folder + "/spare" }

  init(at folder: String, from template: Template, _ programs: Programs) throws {
    (self.folder, keyFile, self.programs) = (folder, template.keyFile, programs)
    let files = FileManager.default
    try files.createDirectory(atPath: root, withIntermediateDirectories: true)
    try files.createDirectory(atPath: spare, withIntermediateDirectories: true)
    try files.copyItem(atPath: template.vault, toPath: vault)
  }

  /// The last row that the child has acknowledged.
  func acknowledged() throws -> Int {
    // The last line may be torn by a kill.
    let text = try String(contentsOfFile: output, encoding: .utf8)
    guard let end = text.lastIndex(of: "\n") else { return 0 }
    return text[..<end].split(separator: "\n").compactMap { Int($0) }.last ?? 0
  }

  /// The last line of what the process said.
  var lastWords: String {
    let text = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").suffix(3).joined(separator: " | ")
  }

  func start(_ words: [String], _ variables: [String: String] = [:]) throws -> RunningProcess {
    try RunningProcess(words, variables: variables, output: output, errors: errors)
  }
}

/// Where the programs are.
struct Programs {
  let torture, fieldvault, layer: String
}
