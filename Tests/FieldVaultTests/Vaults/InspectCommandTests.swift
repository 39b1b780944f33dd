import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("The command inspect")
struct InspectCommandTests {
  @Test("It prints the link at once, and ends on a signal without a trace", arguments: [SIGINT, SIGTERM])
  func lifetime(_ signal: Int32) throws {
    let shop = try Workshop()
    let running = try shop.start(["inspect", "--json", "--vault", shop.path("v.vault")], input: nil)
    try blockUntil("the link is printed") { try running.outputSoFar().hasSuffix("\n") }
    let output = try running.outputSoFar()
    #expect(output.contains(#"http://127.0.0.1:"#) && output.contains("/open?key="))
    // Other commands use the vault beside it.
    #expect(try shop.run("list", "Room", "--json").status == 0)
    kill(running.process, signal)
    let ran = try running.wait()
    #expect(ran.status == 130, "\(ran.errors)")
    #expect(try ran.object().keys.sorted() == ["url"])
    #expect(try shop.database() != nil)
  }

  @Test(
    "A wrong option is refused with a valid value, before the vault is opened",
    arguments: [
      (["--listen", "0.0.0.0:0"], "not an address of this machine alone"),
      (["--listen", "127.0.0.1:x"], "not an address"),
      (["--idle", "0"], "--idle"), (["--idle", "x"], "--idle"),
    ])
  func wrongOptions(_ options: [String], _ text: String) throws {
    let ran = try Workshop().run(["inspect"] + options)
    #expect(ran.status == 2)
    #expect(ran.errors.contains(text), "\(ran.errors)")
  }

  @Test("An address in use is reported")
  func addressInUse() throws {
    let shop = try Workshop()
    let first = try shop.start(["inspect", "--json", "--vault", shop.path("v.vault")], input: nil)
    try blockUntil("the link is printed") { try first.outputSoFar().hasSuffix("\n") }
    let output = try first.outputSoFar()
    let start = try #require(output.range(of: "http://"))
    let address = output[start.upperBound...].prefix { $0 != "/" }
    let ran = try shop.run("inspect", "--listen", String(address))
    #expect(ran.status == 2 && ran.errors.contains("the address is in use"), "\(ran.errors)")
    kill(first.process, SIGTERM)
    _ = try first.wait()
  }
}
