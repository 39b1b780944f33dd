import TestSupport
import Testing

@testable import VaultKeys

@Suite struct KeyFileTests {
  @Test("A new key file has mode 600 and does not overwrite a file") func aNewKeyFileIsPrivateAndNeverOverwrites()
    throws
  {
    let folder = try TemporaryFolder()
    let content = try KeyFile.create(at: folder.file("k"))
    #expect(try folder.mode("k") == 0o600)
    #expect(try folder.names == ["k"])
    #expect(try KeyFile.read(at: folder.file("k")).isEqual(to: content))
    #expect(text(content).hasPrefix(KeyFile.header) && content.count == KeyFile.header.utf8.count + 65)
    #expect(code { _ = try KeyFile.create(at: folder.file("k")) } == .alreadyExists)
    #expect(try KeyFile.read(at: folder.file("k")).isEqual(to: content))
    #expect(try folder.names == ["k"])
  }

  @Test("A key file has 32 bytes to 1 MiB that are not all equal") func anyFileOfTheRightSizeIsAKeyFile() throws {
    let folder = try TemporaryFolder()
    for (count, expected) in [(31, KeyError.Code.badKeyFile), (32, nil), (1 << 20, nil), ((1 << 20) + 1, .badKeyFile)] {
      let path = try folder.write((0..<count).map { UInt8(truncatingIfNeeded: $0) }, to: "k")
      #expect(code { _ = try KeyFile.read(at: path) } == expected, "\(count) bytes")
    }
    let zeros = try folder.write([UInt8](repeating: 0, count: 64), to: "zeros")
    #expect(code { _ = try KeyFile.read(at: zeros) } == .badKeyFile)
    #expect(code { _ = try KeyFile.read(at: folder.file("nothing")) } == .notFound)
    #expect(code { _ = try KeyFile.read(at: folder.path) } == .unreadable)
  }
}
