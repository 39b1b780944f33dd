import Foundation
import Testing

@testable import VaultKeys

@Suite struct SecureBytesTests {
  @Test("Taking over bytes wipes their source") func takingOverWipesTheSource() throws {
    var source: [UInt8] = [1, 2, 3]
    let bytes = try SecureBytes(wiping: &source)
    #expect(source == [0, 0, 0])
    #expect(plain(bytes) == [1, 2, 3])
  }

  @Test("Secrets are equal only with equal content and length") func comparingLooksAtAllBytes() {
    #expect(secure("same").isEqual(to: secure("same")))
    #expect(!secure("same").isEqual(to: secure("samf")))
    #expect(!secure("same").isEqual(to: secure("sam")))
    #expect(secure("").isEqual(to: secure("")))
  }

  @Test("Hexadecimal text is lower case") func hexTextIsLowerCase() throws {
    let all = secure(bytes: (0...255).map { UInt8($0) })
    #expect(text(try all.hexText()) == (0...255).map { String(format: "%02x", $0) }.joined())
  }

  @Test("A failed initialization throws its error") func aFailedFillingThrows() {
    #expect(
      code {
        _ = try SecureBytes(count: 4, filling: { _ throws(KeyError) in throw .damaged("x") })
      } == .damaged)
  }

  @Test("Core dumps are forbidden") func coreDumpsAreForbidden() throws {
    #expect(forbidCoreDumps())
    #if os(Linux)
      let limits = try String(contentsOfFile: "/proc/self/limits", encoding: .utf8)
      let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
      #expect(core?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
    #endif
  }
}
