import Foundation
import TestSupport
import Testing

/// A working day leaves nothing readable: not in a file that is written, even one that is gone again at once, not in an
/// argument, not in the environment of a child, and no secret in any output.
///
/// The commands run under strace, which sees every byte that a process or its children write and to where.
@Suite(.enabled(if: tool("strace") != nil, "strace sees what is written, and it is not installed"))
struct LeakTests {
  private static let marker = "FLOODMARK"
  private static let passphrases = ["correct horse battery staple", "another one of nine words"]
  private let shop: Workshop

  init() throws {
    shop = try Workshop(.passphrase)
    try FileManager.default.createDirectory(atPath: shop.path("tmp"), withIntermediateDirectories: true)
    var csv = "title,body\n"
    for number in 0..<3000 {
      csv += "\(number * 7919 % 3000) \(Self.marker),\(String(repeating: "\(Self.marker) wet wall ", count: 12))\n"
    }
    try shop.write(csv, to: "notes.csv")
    try shop.write(Self.passphrases[1] + "\n", to: "second")
  }

  @Test("No command writes plaintext or keys to any file") func nothingReadableIsWrittenAnywhere() throws {
    let firstKey = try exportedKey("before")
    let day: [[String]] = [
      ["import", "Note", "@notes.csv", "--set", "projectId=\(Workshop.project)"],
      ["query", "SELECT body, row_number() OVER (ORDER BY body, title) FROM OfflineNote ORDER BY title DESC"],
      ["query", "--write", "CREATE INDEX byBody ON OfflineNote (body, title)"],
      ["search", Self.marker],
      [
        "shell", "--command",
        """
        CREATE TEMP TABLE copy AS SELECT * FROM OfflineNote ORDER BY body; CREATE INDEX temp.i ON copy (body, title);
        SELECT count(*) OVER (PARTITION BY body ORDER BY title) FROM copy ORDER BY body, title;
        CREATE INDEX byTitle ON OfflineNote (title, body);
        """,
      ],
      ["key", "add", "passphrase", "--new-passphrase-file", "@second"],
      ["key", "rotate"],
      ["backup", "@job.backup"],
      ["export", "Note", "--format", "ndjson"],
    ]
    for arguments in day { try trace(arguments, secrets: [firstKey]) }
    let secondKey = try exportedKey("after")
    #expect(secondKey != firstKey)
    try trace(["list", "Note", "--limit", "5"], secrets: [firstKey, secondKey])
    try crash()
    try searchFiles(for: [Self.marker] + Self.passphrases + [firstKey, secondKey])
  }

  /// The 64 hexadecimal digits of the database key; the file that held them is gone again.
  private func exportedKey(_ name: String) throws -> String {
    try shop.done("key", "export", "@\(name)")
    let text = try String(contentsOfFile: shop.path(name), encoding: .utf8)
    try FileManager.default.removeItem(atPath: shop.path(name))
    return try #require(text.split(separator: "'").dropFirst().first.map(String.init))
  }

  /// Runs a command under strace and checks the writes of it and its children, and the arguments of the children.
  private func trace(_ arguments: [String], secrets: [String]) throws {
    let log = shop.folder.deletingLastPathComponent().appendingPathComponent("strace-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: log) }
    let words = arguments.map { $0.hasPrefix("@") ? shop.path(String($0.dropFirst())) : $0 }
    let program = try builtProgram("fieldvault")
    let ran = try run(
      try #require(tool("strace")),
      [
        "-f", "-qq", "-v", "-xx", "-y", "-s", "16777216", "-e",
        "trace=write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,execve", "-o", log.path, program,
      ] + words, environment: shop.environment(["TMPDIR": shop.path("tmp"), "SQLITE_TMPDIR": shop.path("tmp")]))
    #expect(ran.status == 0, "\(arguments): \(ran.errors)")
    let trace = try Data(contentsOf: log)
    #expect(
      trace.range(of: Data(Self.hexadecimal("execve").utf8)) != nil || trace.range(of: Data("execve(".utf8)) != nil)
    for text in [Self.marker] + Self.passphrases + secrets {
      for place in Self.places(of: text, in: trace) where !isAllowed(place, text) {
        Issue.record("\(arguments.first ?? ""): '\(text.prefix(9))...' was given to \(place)")
      }
    }
    for secret in Self.passphrases + secrets {
      #expect(!ran.output.contains(secret))
      #expect(!ran.errors.contains(secret))
    }
    #expect(!ran.errors.contains(Self.marker))
  }

  /// Recorded data may be written to the requested standard output, and to the pipe that passes a command. A key may
  /// only be written to a pipe, a passphrase nowhere.
  private func isAllowed(_ place: String, _ text: String) -> Bool {
    if Self.passphrases.contains(text) { return false }
    let isPipe = place.contains("pipe:")
    return text == Self.marker ? isPipe || place.hasSuffix("/output") || place == "execve" : isPipe
  }

  /// The system calls of a trace in which a text stands: the file that was written, or `execve`.
  private static func places(of text: String, in trace: Data) -> Set<String> {
    let wanted = Data(hexadecimal(text).utf8)
    var places: Set<String> = []
    var rest = trace[...]
    while let found = rest.range(of: wanted) {
      let begin = trace[..<found.lowerBound].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? trace.startIndex
      let end = trace[found.upperBound...].firstIndex(of: UInt8(ascii: "\n")) ?? trace.endIndex
      places.insert(place(String(decoding: trace[begin..<min(end, begin + 3000)], as: UTF8.self)))
      rest = trace[end...]
    }
    return places
  }

  /// `123 write(5</a/file>, "...` is `/a/file`.
  private static func place(_ line: String) -> String {
    if line.contains("execve(") { return "execve" }
    guard let begin = line.firstIndex(of: "<"), let end = line[begin...].firstIndex(of: ">") else { return line }
    let path = line[line.index(after: begin)..<end]
    guard path.hasPrefix("\\x") else { return String(path) }
    return String(decoding: path.split(separator: "\\x").compactMap { UInt8($0.prefix(2), radix: 16) }, as: UTF8.self)
  }

  private static func hexadecimal(_ text: String) -> String {
    text.utf8.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// An import that is killed in the middle.
  private func crash() throws {
    let running = try shop.start(
      ["import", "Note", shop.path("notes.csv"), "--set", "projectId=\(Workshop.project)"], input: nil)
    let wal = shop.path("v.vault/db/0002/vault.db-wal")
    for _ in 0..<2000 {
      let size = try? FileManager.default.attributesOfItem(atPath: wal)[.size] as? Int
      if size ?? 0 > 0 { break }
      usleep(1000)
    }
    kill(running.process, SIGKILL)
    _ = try running.wait()
  }

  /// Looks at every file that is there now.
  private func searchFiles(for texts: [String]) throws {
    let given: Set = ["notes.csv", "passphrase", "second"]
    let names = try #require(FileManager.default.enumerator(atPath: shop.folder.path)).compactMap { $0 as? String }
    #expect(names.contains("job.backup"))
    for name in names where !given.contains(name) {
      guard let content = FileManager.default.contents(atPath: shop.path(name)) else { continue }
      for text in texts { #expect(content.range(of: Data(text.utf8)) == nil, "\(name) holds '\(text.prefix(9))...'") }
    }
  }

  @Test(
    "Core dumps are disabled, and a core that root takes contains no passphrase",
    .enabled(if: tool("gdb") != nil, "gdb takes the core, and it is not installed"))
  func noCoreIsLeftAndTheOneThatRootTakesHoldsNoPassphrase() throws {
    let shell = try OpenShell(shop)
    let running = shell.running
    let limits = try String(contentsOfFile: "/proc/\(running.process)/limits", encoding: .utf8)
    let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
    #expect(core.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
    let file = shop.path("core")
    let taken = try run(
      try #require(tool("gdb")),
      ["-p", String(running.process), "-batch", "-nx", "-ex", "generate-core-file \(file)"],
      environment: shop.environment())
    guard let content = FileManager.default.contents(atPath: file) else {
      // The system allows no process to take one, which is sufficient.
      #expect(!taken.output.contains("Saved corefile"))
      return
    }
    #expect(content.range(of: Data(Self.passphrases[0].utf8)) == nil)
    #expect(try shell.end().status == 0)
  }
}
