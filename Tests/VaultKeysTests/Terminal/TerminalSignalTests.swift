#if os(Linux)
  import Foundation
  import Testing

  @testable import VaultKeys

  /// The test program as a child on a terminal of its own, killed while it asks.
  @Suite(.serialized) struct TerminalSignalTests {
    private static let childVariable = "VAULTKEYS_TEST_ASKS_ON_THE_TERMINAL"
    private static let isChild = ProcessInfo.processInfo.environment[childVariable] != nil

    /// What the child runs; in the parent it is skipped.
    @Test("The child process reads the passphrase from its terminal", .enabled(if: isChild)) func asksInAChild() throws
    {
      let answer = try SecretSource.terminal(prompt: "Passphrase: ").readPassphrase()
      exit(text(answer) == "hunter2" ? 42 : 43)
    }

    @Test(
      "The echo returns before a signal ends the process", .disabled(if: isChild),
      arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
    func theEchoComesBackBeforeTheSignalEndsTheProcess(signal: Int32) throws {
      let terminal = try PseudoTerminal()
      let child = try spawn(on: terminal)
      #expect(terminal.screen(until: "Passphrase: ").hasSuffix("Passphrase: "))
      #expect(!terminal.isEchoing)
      terminal.type("half a pass")
      #expect(kill(child, signal) == 0)
      let status = wait(for: child)
      #expect(status & 0x7F == signal, "ended by the signal itself, so that a shell sees it")
      #expect(terminal.isEchoing)
    }

    @Test("Control-C ends the prompt and restores the echo", .disabled(if: isChild)) func controlCEndsTheQuestion()
      throws
    {
      let terminal = try PseudoTerminal()
      let child = try spawn(on: terminal)
      _ = terminal.screen(until: "Passphrase: ")
      terminal.type("half\u{3}")
      #expect(wait(for: child) & 0x7F == SIGINT)
      #expect(terminal.isEchoing)
    }

    @Test("A prompt that was stopped starts again and discards the partial input", .disabled(if: isChild))
    func aStoppedQuestionIsAskedAgain() throws {
      let terminal = try PseudoTerminal()
      let child = try spawn(on: terminal)
      _ = terminal.screen(until: "Passphrase: ")
      terminal.type("half a")
      // A session leader is not stopped by SIGTSTP: it goes straight on to asking again.
      #expect(kill(child, SIGTSTP) == 0)
      #expect(terminal.screen(until: "Passphrase: ") == "\r\nPassphrase: ")
      terminal.type("hunter2\r")
      #expect(wait(for: child) >> 8 & 0xFF == 42, "what was half typed is forgotten")
      #expect(terminal.isEchoing)
    }

    private func spawn(on terminal: PseudoTerminal) throws -> pid_t {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      // The first terminal that the leader of a new session opens becomes its controlling terminal.
      posix_spawn_file_actions_addopen(&actions, 0, terminal.slavePath, O_RDWR, 0)
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      // A shell's background job ignores these signals, and a child would inherit that.
      var ignored = sigset_t()
      sigemptyset(&ignored)
      sigaddset(&ignored, SIGINT)
      sigaddset(&ignored, SIGQUIT)
      posix_spawnattr_setsigdefault(&attributes, &ignored)
      // POSIX_SPAWN_SETSID, which the headers hide from Swift.
      posix_spawnattr_setflags(&attributes, 0x80 | Int16(POSIX_SPAWN_SETSIGDEF))

      let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? program
      let words = [program, bundle, "--testing-library", "swift-testing", "--filter", "asksInAChild"]
      var arguments = (program == bundle ? [program] + words.dropFirst(2) : words).map { strdup($0) } + [nil]
      var variables = ProcessInfo.processInfo.environment
      variables[Self.childVariable] = "1"
      // The runtime's own handler for crashes takes SIGQUIT as well.
      variables["SWIFT_BACKTRACE"] = "enable=no"
      var environment = variables.map { strdup("\($0)=\($1)") } + [nil]
      defer { for text in arguments + environment { free(text) } }
      var child: pid_t = 0
      try #require(posix_spawn(&child, program, &actions, &attributes, &arguments, &environment) == 0)
      return child
    }

    private func wait(for child: pid_t) -> Int32 {
      var status: Int32 = 0
      while waitpid(child, &status, 0) < 0 && errno == EINTR {}
      return status
    }
  }
#endif
