import Foundation

/// The write transactions of a process, measured in CPU time by the library `WriteTimes`, which is loaded before the program.
struct WriteTimes {
  private let path: String

  /// The times of a process that is started with the environment.
  /// - Parameter path: a new file.
  init(path: String) throws {
    self.path = path
    try Data(count: 16).write(to: URL(filePath: path))
  }

  /// The times of this process; nil when it was started without the library.
  init?() {
    guard let path = ProcessInfo.processInfo.environment[Self.variable] else { return nil }
    self.path = path
  }

  private static let variable = "WRITE_TIMES_FILE"

  /// The environment of the process.
  func environment() throws -> [String: String] {
    let library = URL(filePath: Programs.own).deletingLastPathComponent().path + "/libWriteTimes.so"
    guard FileManager.default.fileExists(atPath: library) else {
      throw BenchmarkFailure("\(library) is missing; scripts/bench builds it")
    }
    return ProcessInfo.processInfo.environment.merging(["LD_PRELOAD": library, Self.variable: path]) { $1 }
  }

  /// Forgets the transactions so far.
  func reset() throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.write(contentsOf: Data(count: 16))
    try file.close()
  }

  /// The CPU time of the longest transaction, in seconds.
  func longest() throws -> Double {
    let bytes = try Data(contentsOf: URL(filePath: path))
    let (longest, count) = bytes.withUnsafeBytes {
      ($0.loadUnaligned(as: Int64.self), $0.loadUnaligned(fromByteOffset: 8, as: Int64.self))
    }
    guard count > 0 else { throw BenchmarkFailure("no write transaction was seen") }
    return Double(longest) / 1e9
  }
}
