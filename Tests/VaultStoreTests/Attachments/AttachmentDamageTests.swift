import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// Damage of a stored file is found and named, and harms no other file.
@Suite struct AttachmentDamageTests {
  private let bench: AttachmentBench
  private let victim: UUID
  private let other: UUID
  private var vault: Vault { bench.vault }

  init() throws {
    bench = try AttachmentBench()
    victim = try bench.attach("victim.bin", bytes: 3 << 20, seed: 1)
    other = try bench.attach("other.bin", bytes: 3 << 20, seed: 2)
  }

  enum Harm: String, CaseIterable, Sendable {
    case flipped, truncated, appended, swapped, foreign, emptied, removed, folder, thumbnailOfIt
  }

  private func harm(_ harm: Harm, _ random: inout Seeded) throws {
    let path = try bench.stored(victim)
    var bytes = try Data(contentsOf: URL(filePath: path))
    switch harm {
    case .flipped:
      bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8(1 << Int.random(in: 0..<8, using: &random))
    case .truncated: bytes = bytes.prefix(Int.random(in: 1..<bytes.count, using: &random))
    case .appended: bytes.append(contentsOf: [UInt8](repeating: 7, count: Int.random(in: 1...100_000, using: &random)))
    case .swapped:
      // The first two of three segments.
      let segment = (bytes.count - 32) / 3
      bytes =
        bytes[0..<32] + bytes[32 + segment..<32 + 2 * segment] + bytes[32..<32 + segment] + bytes[(32 + 2 * segment)...]
    case .foreign: bytes = try Data(contentsOf: URL(filePath: bench.stored(other)))
    case .emptied: bytes = Data()
    case .removed: return try FileManager.default.removeItem(atPath: path)
    case .folder:
      try FileManager.default.removeItem(atPath: path)
      return try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    case .thumbnailOfIt:
      let prepared = try vault.prepareAttachment(from: try bench.file("t", bytes: 100, seed: 9))
      bytes = try Data(contentsOf: URL(filePath: prepared.parts[.full]?.path ?? ""))
    }
    try bytes.write(to: URL(filePath: path))
  }

  /// A user who has the original adds it again.
  @Test("A damaged file is not reused for a new attachment of the same content")
  func aDamagedFileDoesNotStandForAGoodOne() throws {
    var random = Seeded(4)
    try harm(.flipped, &random)
    let again = try bench.attach("again.bin", bytes: 3 << 20, seed: 1)
    #expect(try vault.attachment(again).contentUuid != vault.attachment(victim).contentUuid)
    #expect(try bench.content(again).count == 3 << 20)
    // An intact content is stored once.
    let third = try bench.attach("third.bin", bytes: 3 << 20, seed: 1)
    #expect(try vault.attachment(third).contentUuid == vault.attachment(again).contentUuid)
  }

  @Test("A damaged file is found and named, and its content is not exported", arguments: Harm.allCases)
  func itIsFoundAndNamedAndNothingElseIsHarmed(_ kind: Harm) throws {
    let seed = UInt64.random(in: 1...999_999)
    var random = Seeded(seed)
    try harm(kind, &random)
    let found = try vault.verifyAttachments()
    #expect(found.problems.count == 1, "seed \(seed): \(found.problems)")
    #expect(found.problems.first?.kind == (kind == .removed ? .missing : .damaged), "seed \(seed)")
    #expect(found.problems.first?.attachments.map(\.fileName) == ["victim.bin"])
    #expect(found.files == 2)
    // Nothing of it is given out, and the other one opens.
    let target = bench.folder.path + "/out.bin"
    let code = vaultErrorCode { _ = try vault.exportAttachment(victim, to: target) }
    #expect(code == (kind == .folder ? .unreadable : .damaged), "seed \(seed)")
    #expect(!FileManager.default.fileExists(atPath: target))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).allSatisfy { !$0.hasSuffix(".part") })
    #expect(try bench.content(other).count == 3 << 20)
    // `doctor` says so, too.
    let doctor = try Doctor(path: bench.path, schemas: [RestorationSchema.schema]) { try keyFileSecret(1) }
    let diagnosis = try doctor.examine()
    #expect(diagnosis.findings("attachments").map(\.severity) == [.damage], "\(diagnosis.findings)")
  }

  @Test("A content with another digest is reported as damaged") func aContentThatIsNotTheOneOfTheRecordIsFound() throws
  {
    let content = try #require(try vault.attachment(victim).contentUuid)
    _ = try vault.database.write {
      try $0.execute(
        "UPDATE AttachmentContent SET digest = \(String(repeating: "0123456789abcdef", count: 4)) WHERE contentUuid = \(content)"
      )
    }
    #expect(try vault.verifyAttachments().problems.map(\.kind) == [.damaged])
    #expect(vaultErrorCode { _ = try vault.exportAttachment(victim, to: bench.folder.path + "/out") } == .damaged)
  }

  @Test("A record with the key of another content is found") func aRecordThatNamesAContentOfAnotherKeyIsFound() throws {
    _ = try vault.database.write {
      try $0.execute("UPDATE OfflinePhoto SET contentKey = zeroblob(32) WHERE photoId = 1")
    }
    let found = try vault.verifyAttachments()
    #expect(found.problems.map(\.kind) == [.otherKey])
    // The content opens with its own key all the same.
    #expect(try bench.content(victim).count == 3 << 20)
  }

  @Test("A damaged file that the server holds is downloaded again") func whatTheServerHasIsFetchedAgain() throws {
    try bench.markAtServer()
    var random = Seeded(1)
    try harm(.flipped, &random)
    let problems = try vault.verifyAttachments().problems
    #expect(problems.first?.serverHasIt == true)
    #expect(try vault.fetchAgain(problems) == 1)
    #expect(try vault.verifyAttachments().problems.isEmpty)
    #expect(try vault.attachment(victim).full == "absent")
    let wanted = try vault.syncNow { try $0.nextDownload(free: .max) }
    #expect(wanted?.variant == .full)
  }

  @Test("Orphaned and foreign files are reported, and only orphans are removed")
  func orphansAndStrangersAreNamedAndOnlyOrphansAreSwept() throws {
    let orphan = bench.path + "/attachments/" + "00/01900000-0000-7000-8000-000000000000"
    let stranger = bench.path + "/attachments/notes.txt"
    let misplaced = bench.path + "/attachments/11/01900000-0000-7000-8000-000000000000"
    for path in [orphan, orphan + ".thumbnail", orphan + ".part", orphan + ".thumbnail.part", stranger, misplaced] {
      try FileManager.default.createDirectory(
        at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("x".utf8).write(to: URL(filePath: path))
    }
    let found = try vault.verifyAttachments().problems
    #expect(found.filter { $0.kind == .orphan }.count == 4)
    #expect(
      found.filter { $0.kind == .foreign }.map(\.name).sorted() == [
        "attachments/11/01900000-0000-7000-8000-000000000000", "attachments/notes.txt",
      ])
    #expect(try vault.sweepAttachments() == 4)
    #expect(try vault.verifyAttachments().problems.map(\.kind) == [.foreign, .foreign])
    #expect(try bench.content(victim).count == 3 << 20)
  }

  @Test("A recovered file is accepted if it is intact and refused if it is damaged")
  func aWholeFileOfAKnownContentIsTakenInAndADamagedOneIsNot() throws {
    // As after a download whose row was not written, or a salvage that lost the rows of the files.
    try vault.database.write { db in
      try db.execute("DELETE FROM AttachmentTransfer")
      try db.execute("UPDATE AttachmentContent SET full = 'absent', fullBytes = NULL")
    }
    let path = try bench.stored(other)
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[100_000] ^= 1
    try bytes.write(to: URL(filePath: path))
    try Vault.open(at: bench.path, with: keyFileSecret(1), schemas: [RestorationSchema.schema]).close()
    #expect(try vault.attachment(victim).full == "here")
    #expect(try bench.content(victim).count == 3 << 20)
    #expect(try vault.attachment(other).full == "absent")
    #expect(try bench.files().count == 1)
    #expect(try bench.count("SELECT count(*) FROM AttachmentTransfer WHERE direction = 'upload'") == 1)
  }

  @Test("Opening the vault removes partial files") func openingTheVaultSweeps() throws {
    let path = bench.path + "/attachments/00/01900000-0000-7000-8000-000000000000.part"
    try FileManager.default.createDirectory(atPath: bench.path + "/attachments/00", withIntermediateDirectories: true)
    try Data("x".utf8).write(to: URL(filePath: path))
    try Vault.open(at: bench.path, with: keyFileSecret(1), schemas: [RestorationSchema.schema]).close()
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try bench.files().count == 2)
  }

  @Test("A sweep keeps the partial file of a preparation in progress") func nothingIsSweptWhileSomebodyTakesAFileIn()
    throws
  {
    let prepared = try vault.prepareAttachment(from: try bench.file("n", bytes: 10, seed: 5))
    try Vault.open(at: bench.path, with: keyFileSecret(1), schemas: [RestorationSchema.schema]).close()
    #expect(try bench.files().contains { $0.hasSuffix(".part") })
    let uuid = try vault.database.write { try prepared.attach(to: "Project", bench.project, in: $0) }
    #expect(try bench.content(uuid).count == 10)
    withExtendedLifetime(prepared) {}
  }

  @Test("Doctor finds and removes orphaned files") func doctorSweepsWhatIsLeftBehind() throws {
    let path = bench.path + "/attachments/00/01900000-0000-7000-8000-000000000000"
    try FileManager.default.createDirectory(
      atPath: bench.path + "/attachments/00", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    #expect(
      FileManager.default.createFile(atPath: path, contents: Data("x".utf8), attributes: [.posixPermissions: 0o600]))
    let doctor = try Doctor(path: bench.path, schemas: [RestorationSchema.schema]) { try keyFileSecret(1) }
    let diagnosis = try doctor.examine()
    #expect(diagnosis.findings("attachments").map(\.severity) == [.warning])
    #expect(try doctor.repair(diagnosis).failed.isEmpty)
    #expect(try doctor.examine().isOK)
  }
}
