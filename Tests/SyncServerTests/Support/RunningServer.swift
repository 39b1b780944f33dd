import CPlatform
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Something that a test needs is not as it should be.
struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// The program under test as a process of its own; its output goes to files, so that no pipe can fill up.
final class RunningServer {
  let folder: TemporaryFolder
  private let process: pid_t
  private var status: Int32?
  private let files: String

  /// The program, which stands beside the bundle of the tests.
  private static let program: String? = {
    let places = [Bundle.main.bundlePath, CommandLine.arguments[0], "/proc/self/exe"]
    for place in places + CommandLine.arguments.filter({ $0.hasSuffix(".xctest") }) {
      var folder = URL(fileURLWithPath: place).resolvingSymlinksInPath()
      for _ in 0..<5 {
        let candidate = folder.appendingPathComponent("fieldvault-server").path
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder), !isFolder.boolValue {
          return candidate
        }
        folder.deleteLastPathComponent()
      }
    }
    return nil
  }()

  init(_ arguments: [String], in folder: TemporaryFolder) throws {
    guard let program = Self.program else { throw Unexpected("no program fieldvault-server; build it first") }
    self.folder = folder
    files = folder.path + "/\(UUID().uuidString)"
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The threads of the tests block signals, and a child would inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var noSignals = sigset_t()
    sigemptyset(&noSignals)
    posix_spawnattr_setsigmask(&attributes, &noSignals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, files + ".out", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, files + ".err", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    _ = cplatform_spawn_close_from(&actions, 3)
    let words = ([program] + arguments).map { strdup($0) } + [nil]
    let variables = [strdup("PATH=/usr/bin:/bin"), nil]
    defer { for pointer in words + variables { free(pointer) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, program, &actions, &attributes, words, variables)
    guard result == 0 else { throw Unexpected("cannot start: \(String(cString: strerror(result)))") }
    self.process = process
  }

  deinit {
    if status == nil {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
  }

  var output: String { (try? String(contentsOfFile: files + ".out", encoding: .utf8)) ?? "" }
  var errors: String { (try? String(contentsOfFile: files + ".err", encoding: .utf8)) ?? "" }

  func signal(_ number: Int32) { kill(process, number) }

  /// The exit code, once the program has ended; -1 when it does not.
  func end(within seconds: Int = 60) async throws -> Int32 {
    for _ in 0..<seconds * 50 {
      if let status { return status }
      var result: Int32 = 0
      if waitpid(process, &result, WNOHANG) == process {
        // The low seven bits are the signal that ended it, the next eight the exit code.
        status = result & 0x7f == 0 ? result >> 8 & 0xff : 128 + (result & 0x7f)
      } else {
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    return status ?? -1
  }

  /// The address at which the server answers.
  func url() async throws -> String {
    for _ in 0..<3000 {
      if let line = output.split(separator: "\n").first(where: { $0.hasPrefix("listening on ") }),
        output.hasSuffix("\n")
      {
        return String(line.dropFirst("listening on ".count))
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw Unexpected("the server does not listen: \(errors)")
  }

  /// Runs a command to its end.
  static func run(_ arguments: [String], in folder: TemporaryFolder) async throws -> (
    status: Int32, output: String, errors: String
  ) {
    let running = try RunningServer(arguments, in: folder)
    return (try await running.end(), running.output, running.errors)
  }
}
