import Foundation

/// What a tool printed and returned.
struct ToolResult {
  let status: Int32
  let output: String
  let errors: String
}

/// The path of a tool, or nil where it is not installed.
func tool(_ name: String) -> String? {
  let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
  return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// Runs a tool with a file of the text as its last argument.
func run(_ path: String, _ arguments: [String], file text: String, in folder: URL? = nil) throws -> ToolResult {
  let script = FileManager.default.temporaryDirectory.appendingPathComponent("script-\(UUID().uuidString)")
  try text.write(to: script, atomically: true, encoding: .utf8)
  defer { try? FileManager.default.removeItem(at: script) }
  let process = Process()
  process.executableURL = URL(fileURLWithPath: path)
  process.arguments = arguments + [script.path]
  process.currentDirectoryURL = folder
  let (output, errors) = (Pipe(), Pipe())
  process.standardOutput = output
  process.standardError = errors
  try process.run()
  let (printed, complained) = (
    output.fileHandleForReading.readDataToEndOfFile(), errors.fileHandleForReading.readDataToEndOfFile()
  )
  process.waitUntilExit()
  return ToolResult(
    status: process.terminationStatus, output: String(decoding: printed, as: UTF8.self),
    errors: String(decoding: complained, as: UTF8.self))
}
