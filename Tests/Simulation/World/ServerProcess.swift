import Foundation
import RestorationModel
import SQLCipherStorage
import SyncServer
import TestSupport

/// The server as a process that is killed and comes back at the same address.
final class ServerProcess {
  /// The folder that it serves; another one after a restore.
  private(set) var data: String
  let port: UInt16
  private let program: String
  private let workload: Workload
  private let output: String
  private var process: ChildProcess?

  init(program: String, folder: String, workload: Workload) throws {
    (self.program, self.workload) = (program, workload)
    (data, output) = (folder + "/server", folder + "/server-log")
    port = try Ports.free()
  }

  /// Adds a user while no server runs; returns the token.
  func addUser(_ name: String) throws -> String {
    let directory = try ServerDirectory(in: try ServerFolder(data, isCreating: true))
    defer { directory.close() }
    return try directory.addUser(name, account: "water").token
  }

  /// - Parameter disk: the fault of its disk.
  func start(on disk: FailingDisk? = nil) throws {
    process = try ChildProcess(
      program,
      [
        "serve", "--data", data, "--listen", "127.0.0.1:\(port)", "--schema",
        workload.folder ?? workload.name, "--quiet", "--rate", "1000000",
      ], environment: ["PATH": "/usr/bin:/bin"].merging(disk?.variables(root: data) ?? [:]) { $1 },
      output: .file(output + ".out"), errors: .appendedFile(output + ".err"))
  }

  func kill() { process?.end() }

  /// Waits until the server is reachable.
  func awaitResponse() throws {
    let end = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < end {
      if process?.poll() != nil { throw Violation(5, "the server ended by itself: \(lastWords)") }
      if SocketStream(connectingTo: port) != nil { return }
      usleep(5_000)
    }
    throw Violation(5, "the server does not respond: \(lastWords)")
  }

  /// Writes a backup, while the server runs or not.
  /// - Returns: whether it was written.
  func backUp(to file: String) throws -> Bool { try run(["backup", file, "--data", data]) == 0 }

  /// Restores a backup to a new folder, which the server serves from now on.
  func restore(_ file: String, to folder: String) throws {
    kill()
    guard try run(["restore", file, "--data", folder]) == 0 else {
      throw Violation(5, "the server's backup cannot be restored: \(lastWords)")
    }
    data = folder
  }

  /// Starts a new epoch in the data of the server, which does not run.
  func startEpoch() throws {
    kill()
    guard try run(["epoch", "new", "--data", data]) == 0 else {
      throw Violation(5, "the server does not start a new epoch: \(lastWords)")
    }
  }

  private func run(_ words: [String]) throws -> Int32 {
    let process = try ChildProcess(
      program, words, output: .file(output + ".out"), errors: .appendedFile(output + ".err"))
    guard let ending = process.wait(within: .seconds(30)) else {
      throw Violation(5, "\(words[0]) of the server does not end")
    }
    return ending.status
  }

  var isRunning: Bool { process.map { $0.poll() == nil } ?? false }

  private var lastWords: String {
    let text = (try? String(contentsOfFile: output + ".err", encoding: .utf8)) ?? ""
    return text.split(separator: "\n").suffix(5).joined(separator: " | ")
  }
}
