import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The output and the exit code of a program.
struct Ran: Sendable {
  let status: Int32
  let output: String
  let errors: String
  /// The most memory that the program held, in bytes; 0 where it was not watched.
  let peakMemory: Int

  /// The lines of the output.
  var lines: [Substring] { output.split(separator: "\n") }

  /// The one JSON document that the output is.
  func json() throws -> Any { try JSONSerialization.jsonObject(with: Data(output.utf8)) }

  /// The output as rows of JSON.
  func rows() throws -> [[String: Any]] {
    guard let rows = try json() as? [[String: Any]] else { throw Unexpected("no array of objects: \(output)") }
    return rows
  }

  /// The output as one JSON object.
  func object() throws -> [String: Any] {
    guard let object = try json() as? [String: Any] else { throw Unexpected("no object: \(output)") }
    return object
  }
}

/// True where file modes do not stop the tests, and file systems can be mounted.
var isRoot: Bool { geteuid() == 0 }

/// A program that runs; its output goes to files, so that no pipe can fill up.
final class Running {
  private let child: ChildProcess
  private let path: String
  private let folder: TemporaryFolder
  private var peakMemory = 0
  var process: pid_t { child.id }

  /// Starts a program with only the given environment.
  /// - Parameters:
  ///   - terminal: the source of its input and the destination of its errors.
  ///   - screen: the destination of its output, if it is not a file.
  init(
    _ path: String, _ arguments: [String], environment: [String: String], input: Int32? = nil, terminal: Int32? = nil,
    screen: Int32? = nil
  ) throws {
    self.path = path
    folder = try TemporaryFolder()
    child = try ChildProcess(
      path, arguments, environment: environment,
      input: (input ?? terminal).map { .descriptor($0) } ?? .null,
      output: screen.map { .descriptor($0) } ?? .file(folder.file("output")),
      errors: terminal.map { .descriptor($0) } ?? .file(folder.file("errors")))
  }

  /// The output of the program so far.
  func outputSoFar() throws -> String { String(decoding: try read("output"), as: UTF8.self) }

  /// Waits for the end.
  func wait(watchingMemory: Bool = false) throws -> Ran {
    while watchingMemory, child.poll() == nil {
      if isRunning() { peakMemory = max(peakMemory, Self.peakMemory(of: process)) }
      usleep(5_000)
    }
    let ending = try child.wait()
    return Ran(
      status: ending.status, output: String(decoding: try read("output"), as: UTF8.self),
      errors: String(decoding: try read("errors"), as: UTF8.self), peakMemory: peakMemory)
  }

  private func read(_ name: String) throws -> Data {
    try FileManager.default.contents(atPath: folder.file(name)) ?? Data()
  }

  /// Whether the process runs the program already. At the very beginning it has the memory of the tests.
  private func isRunning() -> Bool {
    let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
    return link.map { ($0 as NSString).lastPathComponent == (path as NSString).lastPathComponent } ?? false
  }

  private static func peakMemory(of process: pid_t) -> Int {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
      let size = line.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap({ Int($0) })
    else { return 0 }
    return size << 10
  }
}

/// Runs a program to its end.
func run(
  _ path: String, _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
  watchingMemory: Bool = false
) throws -> Ran {
  guard let input else {
    return try Running(path, arguments, environment: environment).wait(watchingMemory: watchingMemory)
  }
  let folder = try TemporaryFolder()
  let file = try folder.write(input, to: "input")
  let descriptor = open(file, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw Unexpected("cannot open \(file)") }
  defer { close(descriptor) }
  return try Running(path, arguments, environment: environment, input: descriptor).wait(watchingMemory: watchingMemory)
}
