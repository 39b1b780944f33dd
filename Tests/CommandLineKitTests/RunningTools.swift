import Foundation
import TestSupport

/// What a tool printed and returned.
struct ToolResult {
  let status: Int32
  let output: String
  let errors: String
}

/// Runs a tool with a file of the text as its last argument.
func run(
  _ path: String, _ arguments: [String], file text: String, in folder: URL? = nil, environment: [String: String]? = nil
) throws -> ToolResult {
  let scripts = try TemporaryFolder()
  let script = try scripts.write(text, to: "script")
  let process = Process()
  process.executableURL = URL(fileURLWithPath: path)
  process.arguments = arguments + [script]
  process.currentDirectoryURL = folder
  if let environment { process.environment = environment }
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
