import Foundation
import TestSupport
import Testing

@testable import VaultKeys

@Suite struct SecretSourceTests {
  @Test(
    "A passphrase is the first line without its line ending",
    arguments: [
      ("secret\n", "secret"), ("secret", "secret"), ("secret\r\nmore\r\n", "secret"), (" two words \n", " two words "),
      ("tail\r", "tail\r"), ("a\rb\n", "a\rb"),
      (String(repeating: "x", count: 5000) + "\n", String(repeating: "x", count: 5000)),
    ])
  func thePassphraseIsTheFirstLine(content: String, expected: String) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(Array(content.utf8), to: "p")
    #expect(text(try SecretSource(option: path).readPassphrase()) == expected)
  }

  @Test("Empty, overlong, missing and unreadable passphrases have different codes")
  func emptyLongAndMissingPassphrasesAreToldApart() throws {
    let folder = try TemporaryFolder()
    for content in ["", "\n", "\r\nsecond\n"] {
      let path = try folder.write(Array(content.utf8), to: "p")
      #expect(code { _ = try SecretSource.file(path: path).readPassphrase() } == .emptySecret)
    }
    let long = [UInt8](repeating: 65, count: 1 << 20)
    let path = try folder.write(long + [10], to: "p")
    #expect(try SecretSource.file(path: path).readPassphrase().count == 1 << 20)
    _ = try folder.write(long + [65, 10], to: "p")
    #expect(code { _ = try SecretSource.file(path: path).readPassphrase() } == .secretTooLong)
    #expect(code { _ = try SecretSource.file(path: folder.file("none")).readPassphrase() } == .notFound)
    #expect(code { _ = try SecretSource.file(path: folder.path).readPassphrase() } == .unreadable)
    #expect(code { _ = try SecretSource.descriptor(9999).readPassphrase() } == .unreadable)
    #expect(SecretSource(option: "-") == .standardInput)
  }

  @Test("Reading a passphrase consumes only the first line") func nothingBehindTheFirstLineIsConsumed() throws {
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(Data("secret\nrest".utf8))
    try pipe.fileHandleForWriting.close()
    let source = SecretSource.descriptor(pipe.fileHandleForReading.fileDescriptor)
    #expect(text(try source.readPassphrase()) == "secret")
    #expect(try pipe.fileHandleForReading.readToEnd() == Data("rest".utf8))
  }

  @Test("A recovery code may span several lines") func aRecoveryCodeMayHaveLines() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(Array("00000-00001-00002-00003\n00004-00005-00006-00007\n".utf8), to: "r")
    let typed = try SecretSource.file(path: path).readRecoveryCode()
    #expect(plain(try RecoveryCode(parsing: typed).secret) == [UInt8](repeating: 0, count: 20))
  }
}
