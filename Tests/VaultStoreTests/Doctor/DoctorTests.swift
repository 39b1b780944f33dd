import CipherSQL
import Foundation
import Platform
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// Problems of a vault are found and named, and repaired if nothing is lost by it.
@Suite struct DoctorTests: ExaminingNotes {
  let notes: NotesVault

  init() throws { notes = try NotesVault() }

  // MARK: Checks

  @Test("A healthy vault has no findings") func aVaultThatIsWellHasNoFindings() throws {
    let diagnosis = try examine()
    #expect(diagnosis.findings.isEmpty && diagnosis.isOK && !diagnosis.isDamaged)
    #expect(diagnosis.checked.count >= 10 && diagnosis.unchecked.isEmpty)
    let (report, after) = try repair()
    #expect(report.done.isEmpty && report.failed.isEmpty && report.salvaged == nil && after.isOK)
  }

  @Test("The result is stored in the vault with its time, unless a file is damaged") func theResultIsStored() throws {
    #expect(try stored() == nil)
    let diagnosis = try examine()
    let first = try #require(try stored())
    #expect(first.diagnosis.findings == diagnosis.findings && first.diagnosis.checked == diagnosis.checked)
    #expect(first.endedAt > 1_700_000_000_000)
    let whole = try Data(contentsOf: URL(filePath: databasePath))
    // The database still opens, and could be written to.
    try damage([try rootPage(of: "SchemaMigration")])
    let damaged = try Data(contentsOf: URL(filePath: databasePath))
    #expect(try examine().isDamaged)
    #expect(try Data(contentsOf: URL(filePath: databasePath)) == damaged)
    try whole.write(to: URL(filePath: databasePath))
    #expect(try stored()?.endedAt == first.endedAt)
    #expect(try examine().findings("result").isEmpty)
    #expect(try (stored()?.endedAt ?? 0) >= first.endedAt)
  }

  private func stored() throws -> StoredDiagnosis? {
    let vault = try Vault.open(at: path, with: keyFileSecret(1))
    defer { vault.close() }
    return try vault.lastDiagnosis()
  }

  @Test("A wrong secret and a missing vault are errors, not findings") func aWrongSecretIsNoFinding() throws {
    let doctor = try Doctor(path: path) { try keyFileSecret(2) }
    #expect { try doctor.examine() } throws: { ($0 as? KeyError)?.code == .wrongSecret }
    #expect { try Doctor(path: folder.path + "/none") { try keyFileSecret(1) } } throws: {
      ($0 as? VaultError)?.code == .notAVault
    }
  }

  @Test("A changed or missing keyring is damage") func aChangedKeyringIsDamage() throws {
    var text = try Data(contentsOf: URL(filePath: path + "/keyring.json"))
    text[40] ^= 1
    try text.write(to: URL(filePath: path + "/keyring.json"))
    #expect(try checks(examine()).contains("keyring") && examine().isDamaged)
    try FileManager.default.removeItem(atPath: path + "/keyring.json")
    let diagnosis = try examine()
    #expect(diagnosis.isDamaged && diagnosis.findings("keyring").first?.what.contains("missing") == true)
    #expect(!diagnosis.unchecked.isEmpty)
  }

  @Test("A missing generation is damage") func aMissingGenerationIsDamage() throws {
    try FileManager.default.removeItem(atPath: path + "/db/0001")
    #expect(try examine().findings("generations").map(\.severity) == [.damage])
  }

  @Test("A weak passphrase is noted") func aWeakPassphraseIsNoted() throws {
    let vault = try Vault.open(at: path, with: keyFileSecret(1))
    var settings = KeyringSettings.standard
    settings.derivation = .smallest
    let cheap = try vault.newestKeyring().adding(passphraseSecret("weak and cheap"), settings: settings)
    try KeyringFile.write(cheap.keyring, at: path + "/keyring.json")
    vault.close()
    let diagnosis = try examine()
    #expect(diagnosis.findings.map(\.severity) == [.note] && diagnosis.isOK)
  }

  @Test("Each changed page is found") func everyChangedPageIsFound() throws {
    let count = try pageCount()
    let whole = try Data(contentsOf: URL(filePath: databasePath))
    for page in stride(from: 1, through: count, by: max(count / 12, 1)) {
      try damage([page])
      let diagnosis = try examine()
      #expect(diagnosis.isDamaged && !diagnosis.findings("pages").isEmpty, "page \(page)")
      try whole.write(to: URL(filePath: databasePath))
    }
    #expect(try examine().findings.filter { $0.check != "permissions" }.isEmpty)
  }

  @Test("A truncated database is damage") func aFileCutShortIsDamage() throws {
    #expect(truncate(databasePath, off_t((try pageCount() - 3) * 4096)) == 0)
    #expect(try examine().findings("opens").map(\.severity) == [.damage])
  }

  @Test("A reader that keeps the log from being emptied is a warning") func aReaderThatKeepsTheLogIsNamed() throws {
    let database = try Database(path: databasePath, key: try #require(PlainKey(key)))
    try database.read { db throws in
      _ = try db.fetchOne("SELECT count(*) FROM OfflineNote", as: Int.self)
      let done = DispatchSemaphore(value: 0)
      let (databasePath, key) = (databasePath, key)
      Thread.detachNewThread {
        defer { done.signal() }
        do {
          let other = try Database(path: databasePath, key: try #require(PlainKey(key)))
          try other.write { _ = try $0.execute("UPDATE OfflineNote SET title = 'x'") }
        } catch { Issue.record(error) }
      }
      done.wait()
      let diagnosis = try examine()
      #expect(diagnosis.findings.contains { $0.check == "log" && $0.severity == .warning })
      #expect(!diagnosis.isDamaged)
    }
    database.close()
    #expect(try examine().isOK)
  }

  @Test("A dangling reference is found with its row") func aReferenceToNothingIsFound() throws {
    let database = try Database(path: databasePath, key: try #require(PlainKey(key)))
    try database.withWriter { try $0.set(.foreignKeys(false)) }
    try database.write { _ = try $0.execute("UPDATE OfflineNote SET projectId = 77 WHERE noteId = 5") }
    database.close()
    let found = try examine().findings("references")
    #expect(found.count == 1 && found.first?.what.contains("OfflineNote, row 5,") == true)
  }

  @Test("A schema change made by hand is found") func aChangeOfTheSchemaByHandIsFound() throws {
    try write { _ = try $0.execute("CREATE TABLE extra (a)") }
    let diagnosis = try examine()
    #expect(checks(diagnosis) == ["schema"] && diagnosis.findings[0].what.contains("table extra is unexpected"))
    #expect(!diagnosis.isOK && !diagnosis.isDamaged)
  }

  // MARK: Repairs

  @Test("A missing trigger is found and created again") func triggersAreMadeAnew() throws {
    try write { db in try db.asMigration { _ = try db.execute("DROP TRIGGER fieldvault_delete_OfflineNote") } }
    #expect(try checks(examine()) == ["triggers"])
    let (report, after) = try repair()
    #expect(report.done.count == 1 && report.failed.isEmpty && after.findings.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/db") == ["0001"])
  }

  @Test("A change without an operation is found and queued") func aChangeWithoutItsOperationIsFoundAndQueued() throws {
    try write { db in
      try db.execute("DELETE FROM OfflineSyncQueue WHERE entityType = 'Note' AND entityId <= 20")
      try db.execute("UPDATE OfflineSyncQueue SET status = 'conflict' WHERE entityType = 'Note' AND entityId = 30")
    }
    let found = try examine().findings("sync")
    #expect(found.first?.what.contains("20 records of Note have changes but no operation") == true)
    #expect(found.first?.what.contains("1 operation waits for a missing conflict") == true)
    let (report, after) = try repair()
    #expect(report.done == ["queued changes without an operation"] && after.findings.isEmpty)
  }

  @Test("An incomplete search index is found and rebuilt") func searchIsMadeAnew() throws {
    try write { db throws in
      let name = "fieldvault_search_insert_NoteSearch"
      let trigger = try #require(
        try db.fetchOne("SELECT sql FROM sqlite_schema WHERE name = \(name)", as: String.self))
      try db.asMigration {
        try db.execute("DROP TRIGGER \(identifier: name)")
        try db.execute("INSERT INTO OfflineNote (projectId, title, body) VALUES (1, 'unheard', 'unseen')")
        try db.execute(SQL(raw: trigger))
      }
    }
    let before = try examine()
    #expect(checks(before) == ["search"] && !before.isDamaged)
    let (report, after) = try repair()
    #expect(report.failed.isEmpty && after.findings.isEmpty)
    let vault = try Vault.open(at: path, with: keyFileSecret(1), schemas: [RestorationSchema.schema])
    #expect(try vault.database.read { try Search($0, entities: vault.entities).find("unheard").count } == 1)
  }

  @Test("Rebuilding search indexes leaves contentless and standalone indexes intact")
  func anIndexWithoutRecordsDoesNotStandInTheWay() throws {
    try write { db throws in
      try db.execute("CREATE VIRTUAL TABLE bare USING fts5(text, content='')")
      try db.execute("INSERT INTO bare (rowid, text) VALUES (1, 'wet')")
      try db.execute("CREATE VIRTUAL TABLE own USING fts5(text)")
      try db.execute("INSERT INTO own VALUES ('dry')")
    }
    #expect(try checks(examine()) == ["schema"])
    let database = try Database(path: databasePath, key: try #require(PlainKey(key)))
    defer { database.close() }
    try database.write { db throws in
      for index in try SearchIndexes.all(in: db) { try SearchIndexes.rebuild(index, on: db) }
    }
    try database.read { db throws in
      #expect(try db.fetchOne("SELECT count(*) FROM bare WHERE bare MATCH 'wet'", as: Int.self) == 1)
      #expect(try db.fetchOne("SELECT count(*) FROM own WHERE own MATCH 'dry'", as: Int.self) == 1)
    }
  }

  @Test("A wrong index is found and rebuilt") func indexesAreMadeAnew() throws {
    // The definition of the index says something else than its pages hold.
    let sql = "UPDATE sqlite_schema SET sql = replace(sql, 'roomId IS NOT NULL', 'roomId IS NULL') "
    let isRun = try shell(
      ".dbconfig defensive off\nPRAGMA writable_schema = ON;\n\(sql) WHERE name = 'OfflineNote_room';")
    guard isRun else { return }
    let before = try examine()
    #expect(checks(before).contains("indexes") && before.isDamaged, "\(before)")
    let (report, after) = try repair()
    #expect(report.done.contains { $0.contains("indexes") } && after.findings("indexes").isEmpty)
    #expect(!after.isDamaged, "\(after)")
  }

  /// Runs statements in the sqlcipher shell; returns `false` without a shell.
  private func shell(_ statements: String) throws -> Bool {
    let places = ["/usr/bin/sqlcipher", "/usr/local/bin/sqlcipher", "/opt/homebrew/bin/sqlcipher"]
    guard let program = places.first(where: FileManager.default.isExecutableFile) else { return false }
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = ["-batch", databasePath]
    let input = Pipe()
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let digits = key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    let text = "PRAGMA key = \"x'\(digits)'\";\n\(statements)\nPRAGMA wal_checkpoint(TRUNCATE);\n"
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  @Test("Wrong permissions are found and corrected") func permissionsAreMended() throws {
    #expect(chmod(databasePath, 0o644) == 0 && chmod(path + "/attachments", 0o755) == 0)
    #expect(try checks(examine()) == ["permissions", "permissions"])
    let (report, after) = try repair()
    #expect(report.done.count == 2 && after.findings.isEmpty)
    let mode = try FileManager.default.attributesOfItem(atPath: databasePath)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test("Leftovers of the vault are removed, and unknown files stay") func leftoversGoAndStrangersStay() throws {
    _ = try folder.write("x", to: "job.vault/db/0007/vault.db")
    _ = try folder.write("x", to: "job.vault/.keyring.json.tmp")
    _ = try folder.write("x", to: "job.vault.making/keyring.json")
    _ = try folder.write("x", to: "job.salvaged-2.vault.making/keyring.json")
    _ = try folder.write("x", to: "other.vault.making/keyring.json")
    let stranger = try folder.write("x", to: "job.vault/letter.txt")
    #expect(chmod(stranger, 0o600) == 0)
    let before = try examine()
    #expect(before.findings("orphans").filter { $0.severity == .warning }.count == 4, "\(before)")
    let (report, after) = try repair()
    #expect(report.failed.isEmpty && checks(after) == ["orphans"] && after.isOK, "\(after)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["job.vault", "other.vault.making"])
    #expect(Files.exists(stranger) && Files.exists(databasePath))
  }

  @Test("A staged vault in progress is no finding") func aDraftThatIsBeingMadeStays() throws {
    let draft = try StagedVault(for: VaultLayout(folder: folder.path + "/job.salvaged.vault"))
    #expect(try examine().findings.isEmpty)
    draft.abandon()
  }
}
