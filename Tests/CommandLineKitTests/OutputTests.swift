import Foundation
import TestSupport
import Testing

@testable import CommandLineKit

@Suite("Output")
struct OutputTests {
  init() { Signals.ignoreBrokenPipe() }

  @Test("Output is written when the buffer is full or flushed") func waitsForAFlushOrAFullBuffer() throws {
    let ends = PipeEnds.make()
    defer { ends.close() }
    let output = Output(descriptor: ends.write, limit: 10)
    try output.line("one")
    try output.line("two")
    try output.write("three")
    #expect(ends.arrived() == "one\ntwo\nthree")
    try output.write("four".utf8)
    try output.flush()
    #expect(ends.arrived() == "four")
  }

  @Test("Output to a terminal is written at once") func aTerminalSeesEveryWrite() throws {
    let ends = try PipeEnds.pseudoTerminal()
    defer { ends.close() }
    let output = Output(descriptor: ends.write)
    try output.line("at once")
    #expect(ends.arrived() == "at once\r\n")
  }

  @Test("A closed pipe ends the output with exit code 0") func aReaderThatWentAwayIsNoFailure() throws {
    let ends = PipeEnds.make()
    close(ends.read)
    defer { close(ends.write) }
    let output = Output(descriptor: ends.write)
    try output.write("nobody reads this")
    let error = #expect(throws: OutputError.self) { try output.flush() }
    #expect(error?.kind == .closed)
    #expect(error?.exitCode == .done)
    // What could not be written is not tried again.
    try output.flush()
  }

  @Test(
    "A full disk is reported with its own exit code", .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
  func aFullDiskIsReported() throws {
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    let output = Output(descriptor: full)
    try output.write("no room for this")
    let error = #expect(throws: OutputError.self) { try output.flush() }
    #expect(error?.kind == .noSpace)
    #expect(error?.exitCode == .noSpace)
    #expect("\(error!)" == "cannot write the output: no space left on device")
  }

  @Test("Output waits for a non-blocking descriptor") func aDescriptorThatDoesNotBlockIsWaitedFor() async throws {
    let ends = PipeEnds.make()
    defer { close(ends.read) }
    #expect(fcntl(ends.write, F_SETFL, O_NONBLOCK) == 0)
    let size = 1_000_000
    // A thread, as the write keeps the task's own, and other tests may keep the rest.
    let (read, total) = AsyncStream.makeStream(of: Int.self)
    Thread {
      while case let text = ends.arrived(), !text.isEmpty { total.yield(text.utf8.count) }
      total.finish()
    }.start()
    try Output(descriptor: ends.write).write(repeatElement(UInt8(ascii: "x"), count: size))
    close(ends.write)
    #expect(await read.reduce(0, +) == size)
  }

  @Test("Lines of concurrent writers are not interleaved") func keepsEachWriteInOnePiece() async throws {
    let folder = try TemporaryFolder()
    let descriptor = open(folder.file("output"), O_WRONLY | O_CREAT, 0o600)
    let output = Output(descriptor: descriptor, limit: 100)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for letter in ["a", "b", "c", "d"] {
        group.addTask { for _ in 0..<500 { try output.line(String(repeating: letter, count: 30)) } }
      }
      try await group.waitForAll()
    }
    try output.flush()
    close(descriptor)
    let lines = try String(contentsOfFile: folder.file("output"), encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 2000)
    #expect(lines.allSatisfy { Set($0).count == 1 && $0.count == 30 })
  }
}

@Suite("Signals", .serialized)
struct SignalTests {
  @Test("SIGTERM calls the stop handler") func aRequestToStopCallsBack() async {
    let signal = await withCheckedContinuation { continuation in
      Signals.onStop { continuation.resume(returning: $0) }
      kill(getpid(), SIGTERM)
    }
    #expect(signal == .terminate)
  }
}
