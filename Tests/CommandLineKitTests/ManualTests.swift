import TestSupport
import Testing

@testable import CommandLineKit

@Suite("Man page")
struct ManualTests {
  /// Returns the page as a reader sees it; `nil` if groff is not installed.
  private func rendered(_ page: String) throws -> String? {
    guard let groff = tool("groff") else {
      print("skipped: groff is not installed, so the man page was not formatted")
      return nil
    }
    let result = try run(groff, ["-man", "-Tascii", "-P-cbou", "-ww", "-rLL=100n"], file: page)
    #expect(result.status == 0 && result.errors == "", "\(result.errors)")
    return result.output
  }

  @Test("The man page has each visible command, option, example and exit code, and groff has no warning")
  func content() throws {
    let program = Program.sample
    guard let page = try rendered(program.manual()) else { return }
    let words = page.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    for (path, chain) in program.visibleCommands() {
      #expect(words.contains("fieldvault \(path.joined(separator: " "))"), "\(path)")
      for option in chain.flatMap(\.options) + program.globalOptions {
        #expect(words.contains("--\(option.long)"), "\(option.long)")
      }
      for example in chain.flatMap(\.examples) {
        #expect(page.contains("$ \(example.command)\n"), "\(example.command)")
        #expect(words.contains(example.effect), "\(example.effect)")
      }
    }
    for code in program.exitCodes { #expect(words.contains("\(code.rawValue) \(code.meaning)"), "\(code)") }
    #expect(!page.contains("dump"), "a hidden command")
  }

  @Test("The man page lists the environment variables with their options")
  func variables() throws {
    let option = OptionDescription.value("tls-key", "FILE", "the key", variable: "SERVER_TLS_KEY")
    let program = Program(
      name: "server", version: "1", summary: "a server",
      commands: [CommandDescription("serve", summary: "serve", options: [option])])
    guard let page = try rendered(program.manual()) else { return }
    #expect(page.contains("SERVER_TLS_KEY\n"))
    #expect(page.contains("the value of --tls-key"))
  }

  @Test("Characters with a meaning for roff appear as they are")
  func escapes() throws {
    let text = #".TH 'quoted' "double" `ticks` back\slash \fB ~home a^b --option"#
    let program = Program(
      name: "tool", version: "1", summary: text,
      commands: [
        CommandDescription(
          "run", summary: "run", discussion: "First:\n\(text)\n\n'second' paragraph",
          examples: [Example("tool run '.a' \"b\\c\"", text)])
      ])
    guard let page = try rendered(program.manual()) else { return }
    #expect(page.contains("tool - \(text)"), "\(page)")
    #expect(page.contains("\n       \(text)\n"), "a line of a discussion: \(page)")
    #expect(page.contains("\n       'second' paragraph\n"), "\(page)")
    #expect(page.contains("$ tool run '.a' \"b\\c\"\n"), "\(page)")
  }
}
