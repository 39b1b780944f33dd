import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// The readable parts of a damaged vault are copied into a new one.
@Suite struct SalvageTests: ExaminingNotes {
  let notes: NotesVault

  init() throws { notes = try NotesVault() }

  /// A leaf page of the notes' table, found by damaging pages until some and not all notes cannot be read.
  private func noteLeaf() throws -> Int {
    let whole = try Data(contentsOf: URL(filePath: databasePath))
    defer { try? whole.write(to: URL(filePath: databasePath)) }
    for page in stride(from: try pageCount() / 2, through: try pageCount(), by: 1) {
      try damage([page])
      let connection = try Connection.toDamagedFile(at: databasePath, key: try #require(PlainKey(key)))
      var read = 0
      do {
        try connection.forEach("SELECT body FROM OfflineNote NOT INDEXED") { _ in read += 1 }
      } catch {
        if read > 50 { return page }
      }
      try whole.write(to: URL(filePath: databasePath))
    }
    throw CancellationError()
  }

  @Test("A salvage saves readable rows and attachments and names the lost ranges")
  func whatCanBeReadIsSavedAndTheRestIsNamed() throws {
    let leaf = try noteLeaf()
    try damage([leaf])
    _ = try folder.write("sealed", to: "job.vault/attachments/a1/photo")
    // One that cannot be read.
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/job.vault/attachments/a1/lost", withDestinationPath: "/nowhere/at/all")
    let before = try Data(contentsOf: URL(filePath: databasePath))
    let (report, after) = try repair()
    let saved = try #require(report.salvaged)
    #expect(after.isDamaged && saved.attachments == 1)
    #expect(saved.problems.contains { $0.contains("a1/lost") })
    #expect(saved.vault == folder.path + "/job.salvaged.vault")
    // The damaged vault is as it was.
    #expect(try Data(contentsOf: URL(filePath: databasePath)) == before)
    let notes = try #require(saved.tables.first { $0.name == "OfflineNote" })
    #expect(notes.lost.count == 1 && saved.tables.filter { !$0.isWhole }.count == 1, "\(saved)")
    let lost = try #require(notes.lost.first)
    #expect((2...100).contains(lost.count) && notes.rows == 600 - lost.count && notes.refused == 0)
    let vault = try Vault.open(
      at: saved.vault, with: keyFileSecret(1), schemas: [RestorationSchema.schema], outdated: .refuse)
    let ids = try vault.database.read { try $0.fetch("SELECT noteId FROM OfflineNote ORDER BY 1", as: Int64.self) }
    #expect(ids == (1...600).filter { !lost.contains($0) })
    #expect(
      try vault.database.read { try Search($0, entities: vault.entities).find("note", limit: 999).count } == notes.rows)
    vault.close()
    #expect(try Doctor(path: saved.vault) { try keyFileSecret(1) }.examine().findings("search").isEmpty)
    let second = try Doctor(path: saved.vault, schemas: [RestorationSchema.schema]) { try keyFileSecret(1) }
    // No record names the copied file.
    let left = try second.examine()
    #expect(left.isOK && left.findings.map(\.check) == ["attachments"])
    // A second salvage stands beside the first.
    #expect(try self.repair().report.salvaged?.vault == folder.path + "/job.salvaged-2.vault")
  }

  @Test("A salvage saves records when the table of migrations is damaged") func recordsWithoutTheirSchemaFilesAreSaved()
    throws
  {
    try damage([try rootPage(of: "SchemaMigration")])
    let saved = try #require(try repair().report.salvaged)
    #expect(!saved.problems.isEmpty)
    let vault = try Vault.open(
      at: saved.vault, with: keyFileSecret(1), schemas: [RestorationSchema.schema], outdated: .refuse)
    #expect(try vault.database.read { try $0.fetchOne("SELECT count(*) FROM OfflineNote", as: Int.self) } == 600)
    vault.close()
  }

  @Test("A salvage saves a truncated database up to its end") func aFileCutShortIsSavedUpToItsEnd() throws {
    #expect(truncate(databasePath, off_t((try pageCount() - 8) * 4096)) == 0)
    let saved = try #require(try repair().report.salvaged)
    let notes = try #require(saved.tables.first { $0.name == "OfflineNote" })
    #expect(notes.rows > 400 && notes.rows < 600 && !notes.lost.isEmpty)
  }

  @Test("A salvage saves other tables, their indexes and full-text tables") func anOwnTableAndItsWordsAreSaved() throws
  {
    try write { db throws in
      try db.execute("CREATE TABLE plain (a)")
      try db.execute("INSERT INTO plain (rowid, a) VALUES (-5, x'00ff'), (9, 'nine')")
      try db.execute("CREATE INDEX plain_a ON plain (a)")
      try db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
      try db.execute("INSERT INTO words VALUES ('baseboard')")
    }
    try damage([try rootPage(of: "OfflineAlbum")])
    let saved = try #require(try repair().report.salvaged)
    let database = try Database(path: saved.vault + "/db/0001/vault.db", key: try #require(PlainKey(key)))
    defer { database.close() }
    try database.read { db throws in
      #expect(try db.fetch("SELECT rowid FROM plain ORDER BY rowid", as: Int64.self) == [-5, 9])
      #expect(try db.fetchOne("SELECT count(*) FROM words WHERE words MATCH 'base*'", as: Int.self) == 1)
      #expect(try db.fetchOne("SELECT count(*) FROM sqlite_schema WHERE name = 'plain_a'", as: Int.self) == 1)
    }
  }

  @Test("A database with a damaged first page cannot be salvaged") func nothingIsSavedWhenTheBeginningIsDamaged() throws
  {
    try damage([1])
    let report = try repair().report
    #expect(report.salvaged == nil && report.failed.count == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["job.vault"])
  }

  @Test("A salvage of an open vault is refused") func aSalvageNeedsTheVaultForItself() throws {
    try damage([try rootPage(of: "OfflineAlbum")])
    let other = try VaultLock(path: path + "/lock", mode: .shared)
    #expect { try repair() } throws: { ($0 as? VaultError)?.code == .busy }
    withExtendedLifetime(other) {}
  }
}

/// Ranges of rowids.
@Suite struct SalvageRangeTests {
  @Test("Two halves of a range merge into the range") func halvesMakeTheWhole() {
    for range in [0...1, -5...9, Int64.min...Int64.max, 3...Int64.max] as [ClosedRange<Int64>] {
      let halves = SalvageFiller.halves(of: range)
      #expect(halves[0].lowerBound == range.lowerBound && halves[1].upperBound == range.upperBound)
      #expect(SalvageFiller.merged(halves.reversed()) == [range])
    }
  }

  @Test("The widest range is taken first") func theWidestRangeComesFirst() {
    var ranges: [ClosedRange<Int64>] = [1...5, -10...100, 7...8]
    #expect(SalvageFiller.takeWidest(&ranges) == -10...100)
    #expect(ranges == [1...5, 7...8])
    ranges = []
    #expect(SalvageFiller.takeWidest(&ranges) == nil)
  }
}
