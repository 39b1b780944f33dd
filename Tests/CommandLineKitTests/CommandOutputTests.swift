import Foundation
import Platform
import TestSupport
import Testing

@testable import CommandLineKit

/// Commands of the user whose output is read.
@Suite struct CommandOutputTests {
  private func failure(_ command: String, _ output: CommandOutput = CommandOutput()) async -> String? {
    do {
      _ = try await output.firstLine(of: command)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test(
    "The first line is returned without its end",
    arguments: [
      ("echo one", "one"), ("printf 'one\\r\\ntwo\\n'", "one"), ("printf one", "one"),
      ("echo one; exec >&-; sleep 0.05", "one"),
      ("head -c 65536 /dev/zero | tr '\\0' x", String(repeating: "x", count: 65_536)),
    ])
  func firstLine(command: String, line: String) async throws {
    #expect(try await CommandOutput().firstLine(of: command) == line)
  }

  @Test(
    "A command that fails or prints too much is an error that names the reason and no output",
    arguments: [
      ("echo secret; exit 3", "ended with exit code 3"),
      ("no-such-command-of-this-test 2>&-", "ended with exit code 127"),
      ("kill -9 $$", "was ended by signal 9"), ("true", "printed nothing in its first line"),
      ("echo; echo secret", "printed nothing in its first line"),
      ("head -c 65537 /dev/zero", "printed more than 64 KiB"), ("cat /dev/zero", "printed more than 64 KiB"),
    ])
  func failures(command: String, reason: String) async {
    #expect(await failure(command) == reason)
  }

  @Test(
    "A command that does not end is killed with its children, also after it has closed its output",
    arguments: [
      "sleep 600", "sleep 600 & wait", "exec >&-; sleep 600", "trap '' TERM; sleep 600; true",
    ])
  func endless(command: String) async throws {
    let folder = try TemporaryFolder()
    var output = CommandOutput()
    output.seconds = 0.5
    let file = folder.file("id")
    #expect(await failure("echo $$ > \(file); \(command)", output) == "did not end within 1 s")
    if let text = try? String(contentsOfFile: file, encoding: .utf8), let id = pid_t(text.dropLast()) {
      #expect(kill(id, 0) == -1 && errno == ESRCH)
    }
  }

  @Test("A cancelled task stops its command")
  func cancelled() async throws {
    let folder = try TemporaryFolder()
    let file = folder.file("id")
    let running = Task { try await CommandOutput().firstLine(of: "echo $$ > \(file); sleep 600") }
    try await eventually("the command runs") { FileManager.default.contents(atPath: file)?.last == 0x0A }
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
  }

  @Test("A command inherits no descriptor and no input")
  func inheritance() async throws {
    let open = try Descriptor(opening: "/dev/zero", O_RDONLY)
    _ = dup2(open.number, 200)
    defer { close(200) }
    // The last one is the folder that ls reads.
    #expect(try await CommandOutput().firstLine(of: "echo $(ls /proc/self/fd)") == "0 1 2 3")
    #expect(try await CommandOutput().firstLine(of: "wc -c") == "0")
  }
}
