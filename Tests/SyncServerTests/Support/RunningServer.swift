import Foundation
import TestSupport

/// The program `fieldvault-server` as a child process.
final class RunningServer {
  let folder: TemporaryFolder
  private let process: ChildProcess
  private let files: String

  init(_ arguments: [String], in folder: TemporaryFolder, variables: [String: String] = [:]) throws {
    self.folder = folder
    files = folder.file(UUID().uuidString)
    process = try ChildProcess(
      builtProgram("fieldvault-server"), arguments,
      environment: variables.merging(["PATH": "/usr/bin:/bin"]) { one, _ in one }, output: .file(files + ".out"),
      errors: .file(files + ".err"))
  }

  var output: String { (try? String(contentsOfFile: files + ".out", encoding: .utf8)) ?? "" }
  var errors: String { (try? String(contentsOfFile: files + ".err", encoding: .utf8)) ?? "" }

  var isRunning: Bool { process.poll() == nil }

  func signal(_ number: Int32) { process.signal(number) }

  /// Waits for the end of the program. Returns its exit code, or 128 plus the signal that ended it.
  func end() async throws -> Int32 {
    try await eventually("the end of the server", every: .milliseconds(20)) { process.poll() != nil }
    return try process.wait().status
  }

  /// The address at which the server is reachable.
  func url() async throws -> String {
    var line: Substring?
    try await eventually("the address of the server", every: .milliseconds(20)) {
      guard output.hasSuffix("\n") else {
        if process.poll() != nil { throw Unexpected("the server ended: \(errors)") }
        return false
      }
      line = output.split(separator: "\n").first { $0.hasPrefix("listening on ") }
      return line != nil
    }
    return String((line ?? "").dropFirst("listening on ".count))
  }

  /// Runs a command to its end.
  static func run(
    _ arguments: [String], in folder: TemporaryFolder, variables: [String: String] = [:]
  ) async throws -> (status: Int32, output: String, errors: String) {
    let running = try RunningServer(arguments, in: folder, variables: variables)
    return (try await running.end(), running.output, running.errors)
  }
}
