import Foundation

/// Devices that push as fast as a server lets them, in a process of their own, so that they delay the measuring process
/// only through the server: `fieldvault-bench load URL TOKEN DEVICES`.
final class LoadProcess {
  private let process = Process()

  /// Starts the devices, and waits until each has pushed once.
  init(_ access: Access, devices: Int) throws {
    let output = Pipe()
    process.executableURL = URL(filePath: Programs.own)
    process.arguments = ["load", access.url, access.token, String(devices)]
    process.standardOutput = output
    try process.run()
    guard !output.fileHandleForReading.availableData.isEmpty else {
      throw BenchmarkFailure("the pushing devices do not start")
    }
  }

  deinit { if process.isRunning { process.terminate() } }

  /// Ends the devices.
  /// - Throws: ``BenchmarkFailure`` if they have ended before.
  func stop() throws {
    guard process.isRunning else { throw BenchmarkFailure("the pushing devices have ended early") }
    process.terminate()
    process.waitUntilExit()
  }

  /// The work of the process. It ends only when the process is terminated.
  static func run(_ words: [String]) async throws {
    guard words.count == 3, let count = Int(words[2]), count > 0 else {
      throw BenchmarkFailure("usage: fieldvault-bench load URL TOKEN DEVICES")
    }
    let access = Access(url: words[0], token: words[1])
    let senders = try (0..<count).map { try PushSender(access, device: "busy \($0)") }
    for sender in senders {
      try await sender.begin()
      try await sender.push(25)
    }
    say("pushing")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for sender in senders { group.addTask { while true { try await sender.push(25) } } }
      try await group.waitForAll()
    }
  }
}

/// Runs a body that blocks its thread, on a thread of its own.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
