import Foundation
import SyncServer

/// The program `fieldvault-server` as a process of its own, on data that are filled before.
final class ServerProcess {
  let url: String
  private let process = Process()

  /// - Parameter folder: the server's data.
  init(folder: String) throws {
    let program = URL(filePath: Programs.own).deletingLastPathComponent().path + "/fieldvault-server"
    guard FileManager.default.fileExists(atPath: program) else {
      throw BenchmarkFailure("\(program) is missing; scripts/bench builds it")
    }
    let output = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = [
      "serve", "--data", folder, "--listen", "127.0.0.1:0", "--schema", "restoration", "--quiet", "--rate", "1000000",
    ]
    process.standardOutput = output
    try process.run()
    var line = ""
    while !line.hasSuffix("\n") {
      let part = output.fileHandleForReading.availableData
      guard !part.isEmpty else { throw BenchmarkFailure("the server does not start") }
      line += String(decoding: part, as: UTF8.self)
    }
    guard let url = line.split(whereSeparator: \.isWhitespace).last else {
      throw BenchmarkFailure("the server does not say where it listens")
    }
    self.url = String(url)
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}

/// The program that runs.
enum Programs {
  static let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
}
