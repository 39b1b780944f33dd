import Foundation
import TestSupport
import Testing

@testable import CommandLineKit

@Suite("Pagers")
struct PagerTests {
  @Test(
    "PAGER names the command; empty or cat disables the pager",
    arguments: [
      (["PAGER": "more -s"], "more -s"), (["PAGER": ""], nil), (["PAGER": " "], nil), (["PAGER": "cat"], nil),
      (["PATH": "/nowhere"], nil), ([:], nil),
    ] as [([String: String], String?)])
  func command(environment: [String: String], expected: String?) {
    #expect(Pager.command { environment[$0] } == expected)
  }

  @Test("Without PAGER, less is used if it is installed") func less() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(Array("#!/bin/sh\n".utf8), to: "less")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    #expect(Pager.command { ["PATH": "/nowhere:\(folder.path)"][$0] } == "less -FRX")
  }

  @Test("Only a terminal whose cursor can be moved has a pager") func onlyTerminals() {
    #expect(Pager(for: .plain) { ["PAGER": "true"][$0] } == nil)
    #expect(Pager(for: Terminal(isTerminal: true, canRedraw: false)) { ["PAGER": "true"][$0] } == nil)
  }

  @Test("The pager gets the output, no secret variable, and no history of searches") func thePagerGetsTheOutput() throws
  {
    let folder = try TemporaryFolder()
    let (path, variables) = (folder.file("shown"), folder.file("variables"))
    setenv("FIELDVAULT_KEY_FILE", "/secret", 1)
    defer { unsetenv("FIELDVAULT_KEY_FILE") }
    let pager = try #require(
      Pager(for: Terminal(isTerminal: true)) { ["PAGER": "cat > '\(path)'; env > '\(variables)'"][$0] })
    try pager.output.line("a row")
    pager.finish()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "a row\n")
    let environment = try String(contentsOfFile: variables, encoding: .utf8)
    #expect(environment.contains("LESSHISTFILE=-"))
    #expect(!environment.contains("FIELDVAULT_"))
  }

  @Test("A pager that ends early closes the output") func aPagerThatEndsClosesTheOutput() throws {
    Signals.ignoreBrokenPipe()
    let pager = try #require(Pager(for: Terminal(isTerminal: true)) { ["PAGER": "true"][$0] })
    let error = #expect(throws: OutputError.self) {
      for _ in 0..<10_000 { try pager.output.line(String(repeating: "x", count: 100)) }
    }
    #expect(error?.kind == .closed)
    pager.finish()
  }
}
