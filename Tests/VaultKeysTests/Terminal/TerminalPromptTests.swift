import Foundation
import Testing

@testable import VaultKeys

@Suite(.serialized) struct TerminalPromptTests {
  private let terminal: PseudoTerminal

  init() throws {
    terminal = try PseudoTerminal()
  }

  private func asking(_ body: @escaping @Sendable (borrowing TerminalPrompt) throws(KeyError) -> SecureBytes)
    -> Background<SecureBytes>
  {
    let slave = terminal.slave
    return Background { () throws(KeyError) in try body(TerminalPrompt(borrowing: slave)) }
  }

  @Test("A passphrase is typed without echo, and the echo returns afterwards")
  func passphraseIsNotEchoed() throws {
    #expect(terminal.isEchoing)
    let answer = asking { prompt throws(KeyError) in try prompt.ask("Passphrase: ") }
    #expect(terminal.screen(until: ": ") == "Passphrase: ")
    #expect(!terminal.isEchoing)
    // Typing errors can be corrected: the terminal edits the line.
    terminal.type("hunter3\u{7F}2\r")
    #expect(text(try answer.wait()) == "hunter2")
    #expect(terminal.isEchoing)
    #expect(terminal.screen(until: "\n") == "\r\n")
  }

  @Test("A new passphrase is asked for again until both inputs agree") func aNewPassphraseIsAskedForTwice() throws {
    let answer = asking { prompt throws(KeyError) in try prompt.askTwice("New: ") }
    #expect(terminal.screen(until: "New: ") == "New: ")
    terminal.type("one\n")
    #expect(terminal.screen(until: "Repeat: ") == "\r\nRepeat: ")
    terminal.type("two\n")
    #expect(terminal.screen(until: "New: ") == "\r\nThe entries differ. Try again.\r\nNew: ")
    terminal.type("three\n")
    _ = terminal.screen(until: "Repeat: ")
    terminal.type("three\n")
    #expect(text(try answer.wait()) == "three")
    #expect(terminal.isEchoing)
  }

  @Test("Three pairs of different inputs are an error") func threeDifferentPairsAreAnError() throws {
    let answer = asking { prompt throws(KeyError) in try prompt.askTwice("New: ") }
    for attempt in 1...6 {
      _ = terminal.screen(until: ": ")
      terminal.type("answer \(attempt)\n")
    }
    #expect(code { _ = try answer.wait() } == .secretsDiffer)
    #expect(terminal.isEchoing)
  }

  @Test("The end of the input cancels the prompt") func theEndOfTheInputCancels() throws {
    let answer = asking { prompt throws(KeyError) in try prompt.ask("Passphrase: ") }
    _ = terminal.screen(until: ": ")
    terminal.type("\u{4}")
    #expect(code { _ = try answer.wait() } == .cancelled)
    #expect(terminal.isEchoing)
  }

  @Test("An empty input is an empty secret and is not repeated") func emptyInputIsAnEmptySecret() throws {
    let answer = asking { prompt throws(KeyError) in try prompt.askTwice("New: ") }
    _ = terminal.screen(until: ": ")
    terminal.type("\n")
    #expect(try answer.wait().count == 0)
  }

  @Test("A prompt on a pipe is refused") func whatIsNoTerminalIsNotAskedOn() throws {
    let pipe = Pipe()
    let end = pipe.fileHandleForWriting.fileDescriptor
    #expect(code { _ = try TerminalPrompt(borrowing: end).ask("Passphrase: ") } == .noTerminal)
  }
}
