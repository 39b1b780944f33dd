import Foundation
import RestorationModel
import SyncServer

/// The server as a process that is killed and comes back at the same address.
final class ServerProcess {
  let data: String
  let port: UInt16
  private let program: String
  private let output: String
  private var process: ChildProcess?

  init(program: String, folder: String) throws {
    (self.program, data, output) = (program, folder + "/server", folder + "/server-log")
    port = try Ports.free()
  }

  /// Adds a user while no server runs; returns the token.
  func addUser(_ name: String) throws -> String {
    let directory = try ServerDirectory(in: try ServerFolder(data, isCreating: true))
    defer { directory.close() }
    return try directory.addUser(name, account: "water").token
  }

  /// - Parameter disk: what goes wrong with its disk.
  func start(on disk: FailingDisk? = nil) throws {
    process = try ChildProcess(
      [
        program, "serve", "--data", data, "--listen", "127.0.0.1:\(port)", "--schema", "restoration", "--quiet",
        "--rate", "1000000",
      ], output: output, variables: disk?.variables(root: data) ?? [:])
  }

  func kill() { process?.kill() }

  /// Waits until it takes connections.
  func awaitAnswer() throws {
    let end = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < end {
      if process?.poll() != nil { throw Violation(5, "the server ended by itself: \(lastWords)") }
      if SocketStream(connectingTo: port) != nil { return }
      usleep(5_000)
    }
    throw Violation(5, "the server does not answer: \(lastWords)")
  }

  var isRunning: Bool { process.map { $0.poll() == nil } ?? false }

  private var lastWords: String {
    let text = (try? String(contentsOfFile: output + ".err", encoding: .utf8)) ?? ""
    return text.split(separator: "\n").suffix(5).joined(separator: " | ")
  }
}
