import CPlatform
import Foundation

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

/// Something that a test needs is not as it should be.
struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// The path of a tool, or nil where it is not installed.
func tool(_ name: String) -> String? {
  let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
  return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// True where file modes do not stop the tests, and file systems can be mounted.
var isRoot: Bool { geteuid() == 0 }

/// The program under test, which stands beside the bundle of the tests.
enum Program {
  static let path: Result<String, Unexpected> = {
    var places = [Bundle.main.bundlePath, CommandLine.arguments[0], "/proc/self/exe"]
    places += CommandLine.arguments.filter { $0.hasSuffix(".xctest") }
    for place in places {
      var folder = URL(fileURLWithPath: place).resolvingSymlinksInPath()
      for _ in 0..<5 {
        let candidate = folder.appendingPathComponent("fieldvault").path
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder), !isFolder.boolValue,
          FileManager.default.isExecutableFile(atPath: candidate)
        {
          return .success(candidate)
        }
        folder.deleteLastPathComponent()
      }
    }
    return .failure(Unexpected("no program fieldvault beside \(places); build it first"))
  }()
}

/// A program that runs; its output goes to files, so that no pipe can fill up.
final class Running {
  let process: pid_t
  private let path: String
  private let folder: URL
  private var peakMemory = 0

  /// Starts a program with only the given environment.
  /// - Parameter terminal: the source of its input and the destination of its errors.
  init(
    _ path: String, _ arguments: [String], environment: [String: String], input: Int32? = nil, terminal: Int32? = nil
  ) throws {
    self.path = path
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("run-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input = input ?? terminal {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    // The threads of the tests block signals, and a child would inherit that: a service would not end when it is told.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var noSignals = sigset_t()
    sigemptyset(&noSignals)
    posix_spawnattr_setsigmask(&attributes, &noSignals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let writing = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, 1, folder.appendingPathComponent("output").path, writing, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, folder.appendingPathComponent("errors").path, writing, 0o600)
    if let terminal { posix_spawn_file_actions_adddup2(&actions, terminal, 2) }
    // A pipe of another test that a child holds open would keep that test from seeing its end.
    guard cplatform_spawn_close_from(&actions, 3) == 0 else { throw Unexpected("descriptors cannot be kept back") }
    let words = ([path] + arguments).map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in words + variables { free(pointer) } }
    var started: pid_t = 0
    let result = posix_spawn(&started, path, &actions, &attributes, words, variables)
    guard result == 0 else { throw Unexpected("\(path) does not start: \(String(cString: strerror(result)))") }
    process = started
  }

  /// The output of the program so far.
  func outputSoFar() throws -> String { String(decoding: try read("output"), as: UTF8.self) }

  /// Waits for the end.
  func wait(watchingMemory: Bool = false) throws -> Ran {
    var status: Int32 = 0
    while true {
      let ended = waitpid(process, &status, watchingMemory ? WNOHANG : 0)
      if ended == process { break }
      if ended < 0 && errno != EINTR { throw Unexpected("cannot wait: \(String(cString: strerror(errno)))") }
      if ended == 0 {
        if isRunning() { peakMemory = max(peakMemory, Self.peakMemory(of: process)) }
        usleep(5_000)
      }
    }
    defer { try? FileManager.default.removeItem(at: folder) }
    let signal = status & 0x7f
    return Ran(
      status: signal == 0 ? (status >> 8) & 0xff : 128 + signal,
      output: String(decoding: try read("output"), as: UTF8.self),
      errors: String(decoding: try read("errors"), as: UTF8.self), peakMemory: peakMemory)
  }

  private func read(_ name: String) throws -> Data { try Data(contentsOf: folder.appendingPathComponent(name)) }

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
  let file = FileManager.default.temporaryDirectory.appendingPathComponent("input-\(UUID().uuidString)")
  try Data(input.utf8).write(to: file)
  defer { try? FileManager.default.removeItem(at: file) }
  let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw Unexpected("cannot open \(file.path)") }
  defer { close(descriptor) }
  return try Running(path, arguments, environment: environment, input: descriptor).wait(watchingMemory: watchingMemory)
}
