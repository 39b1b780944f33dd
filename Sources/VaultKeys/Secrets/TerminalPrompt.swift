import CPlatform
import Platform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Prompts for a secret on a terminal with the echo off.
///
/// The echo is restored in every case: after the input, after an error, and before a signal that ends or stops the
/// process takes effect. A stopped prompt is repeated when the process continues.
struct TerminalPrompt: ~Copyable {
  private let terminal: Descriptor

  /// The lock that allows one prompt at a time, because the echo and the signals belong to the whole process.
  private static let lock = Locked<Void>(())

  /// The terminal of the process.
  init() throws(KeyError) {
    do {
      terminal = try Descriptor(opening: "/dev/tty", O_RDWR)
    } catch {
      throw KeyError(
        .noTerminal, "a passphrase is required, but there is no terminal",
        hint: "name a file that holds the passphrase in its first line, or a key file")
    }
  }

  /// A terminal that the caller has opened.
  init(borrowing descriptor: Int32) {
    terminal = Descriptor(borrowing: descriptor)
  }

  /// Prompts once. Return ends the input. The end of the input before that cancels it.
  func ask(_ prompt: String) throws(KeyError) -> SecureBytes {
    try TerminalPrompt.lock.withLock { _ throws(KeyError) in try askUntilAnswered(prompt) }
  }

  /// Prompts for a new secret twice, and again if the inputs differ, at most three times.
  func askTwice(_ prompt: String) throws(KeyError) -> SecureBytes {
    for attempt in 1...3 {
      let first = try ask(prompt)
      // The caller refuses an empty secret, so it is not requested twice.
      if first.count == 0 { return first }
      if try ask("Repeat: ").isEqual(to: first) { return first }
      if attempt < 3 { try say("The entries differ. Try again.\n") }
    }
    throw KeyError(.secretsDiffer, "the two entries differ", hint: "try again and type slowly")
  }

  private func askUntilAnswered(_ prompt: String) throws(KeyError) -> SecureBytes {
    while true {
      switch try askOnce(prompt) {
      case .answer(let answer): return answer
      case .endOfInput: throw TerminalPrompt.cancelled
      case .signal(let number):
        // The terminal and the handlers are restored, so the signal has its old action.
        SignalWatch.deliver(number)
        guard number == SIGTSTP else { throw TerminalPrompt.cancelled }
      }
    }
  }

  private enum Outcome {
    case answer(SecureBytes)
    case endOfInput
    case signal(Int32)
  }

  private func askOnce(_ prompt: String) throws(KeyError) -> Outcome {
    // First the signals, then the echo, so that no signal can leave the echo off.
    var watch = try SignalWatch()
    defer { watch.end() }
    let echo = try TerminalEcho(off: terminal.number)
    var outcome = Outcome.endOfInput
    do {
      try say(prompt)
      outcome = try readAnswer(watch)
    } catch {
      echo.restore(discardingInput: true)
      throw error
    }
    if case .answer = outcome {
      echo.restore(discardingInput: false)
    } else {
      // Discards half-typed input, which the shell would show.
      echo.restore(discardingInput: true)
    }
    // Looks only: a terminal that has hung up must not keep the signal from being raised.
    try? say("\n")
    return outcome
  }

  private func readAnswer(_ watch: borrowing SignalWatch) throws(KeyError) -> Outcome {
    var line = try SecureBuffer()
    while true {
      if let signal = try watch.waitForInput(of: terminal.number) { return .signal(signal) }
      guard try line.append(from: terminal, named: "the terminal", atMost: 1) > 0 else {
        return line.count == 0 ? .endOfInput : .answer(try line.finish())
      }
      if line.last == UInt8(ascii: "\n") {
        line.dropLast()
        return .answer(try line.finish())
      }
    }
  }

  private func say(_ text: String) throws(KeyError) {
    try Array(text.utf8).withBytes { bytes throws(KeyError) in
      do throws(Descriptor.Failure) {
        try terminal.write(bytes)
      } catch {
        throw .reading("the terminal", error)
      }
    }
  }

  private static var cancelled: KeyError {
    KeyError(.cancelled, "the passphrase prompt was cancelled", hint: "try again when you have the passphrase")
  }
}
