import Foundation
import Platform
import TestSupport
import Testing

@testable import VaultKeys

@Suite struct KeyringFileTests {
  private let folder: TemporaryFolder
  private let unlocked: UnlockedKeyring
  private var path: String { folder.file("keyring.json") }

  init() throws {
    folder = try TemporaryFolder()
    unlocked = try Keyring.create(with: keyFile(1), settings: .cheap).unlocked
  }

  @Test("Creating a keyring file writes a private file and does not overwrite") func creatingWritesAPrivateFileOnce()
    throws
  {
    try KeyringFile.create(unlocked.keyring, at: path)
    #expect(try folder.mode("keyring.json") == 0o600)
    #expect(try folder.names == ["keyring.json"])
    #expect(try KeyringFile.read(at: path) == unlocked.keyring)
    let other = try unlocked.withNewGeneration(settings: .cheap).keyring
    #expect(code { try KeyringFile.create(other, at: path) } == .alreadyExists)
    #expect(try KeyringFile.read(at: path) == unlocked.keyring)
    #expect(try folder.names == ["keyring.json"])
  }

  @Test("Writing a keyring replaces the file and removes a leftover of an earlier write")
  func writingReplacesTheFileAndALeftover() throws {
    try KeyringFile.create(unlocked.keyring, at: path)
    _ = try folder.write(Array("half a key".utf8), to: ".keyring.json.tmp")
    let next = try unlocked.withNewGeneration(settings: .cheap).keyring
    try KeyringFile.write(next, at: path)
    #expect(try KeyringFile.read(at: path) == next)
    #expect(try folder.names == ["keyring.json"])
    #expect(try folder.mode("keyring.json") == 0o600)
  }

  @Test("Writing a keyring does not follow a leftover link") func aLeftoverLinkIsNotFollowed() throws {
    let victim = try folder.write([1, 2, 3], to: "victim")
    try FileManager.default.createSymbolicLink(atPath: folder.file(".keyring.json.tmp"), withDestinationPath: victim)
    try KeyringFile.write(unlocked.keyring, at: path)
    #expect(try Data(contentsOf: URL(fileURLWithPath: victim)) == Data([1, 2, 3]))
  }

  @Test("A keyring that is missing, unreadable or too large is reported with its path")
  func whatCannotBeReadOrWrittenIsNamed() throws {
    #expect(code { _ = try KeyringFile.read(at: path) } == .notFound)
    #expect(code { _ = try KeyringFile.read(at: folder.path) } == .unreadable)
    #expect(code { try KeyringFile.write(unlocked.keyring, at: folder.file("no/keyring.json")) } == .cannotWrite)
    _ = try folder.write([UInt8](repeating: 32, count: (1 << 20) + 1), to: "keyring.json")
    #expect {
      _ = try KeyringFile.read(at: path)
    } throws: {
      ($0 as? KeyError)?.code == .damaged && ($0 as? KeyError)?.message.contains(path) == true
    }
  }

  @Test("A full disk is reported as no space") func aFullDiskLeavesWhatWasThere() throws {
    guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
    // Writing to the device itself: the code of the error, and no file of ours.
    let full = try Descriptor(opening: "/dev/full", 1 /* O_WRONLY */)
    do throws(Descriptor.Failure) {
      try [UInt8](repeating: 1, count: 10).withBytes { bytes throws(Descriptor.Failure) in try full.write(bytes) }
      Issue.record("a full disk took bytes")
    } catch {
      #expect(KeyError.writing("f", error).code == .noSpace)
    }
  }
}
