import CipherSQL
import Foundation
import Platform
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// A vault with 600 notes that tests damage.
struct NotesVault {
  let folder: TemporaryFolder
  var path: String { folder.path + "/job.vault" }
  var databasePath: String { path + "/db/0001/vault.db" }
  let key: [UInt8]

  init() throws {
    folder = try TemporaryFolder()
    let vault = try Vault.create(
      at: folder.path + "/job.vault",
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: keyFileSecret(1))
    let project = try vault.put(try vault.entities.entity("Project"), [("title", .text("Mill Lane"))])
    try vault.database.write { db throws in
      for number in 1...600 {
        try db.execute(
          """
          INSERT INTO OfflineNote (projectId, title, body)
          SELECT projectId, \("note \(number)"), \(String(repeating: "wet ", count: 50))
          FROM OfflineProject WHERE uuid = \(project)
          """)
      }
    }
    try vault.database.withWriter { _ = try $0.checkpoint() }
    key = try vault.withDatabaseKey { Array($0) }
    vault.close()
  }
}

/// A suite whose tests examine and repair a vault of notes.
protocol ExaminingNotes {
  var notes: NotesVault { get }
}

extension ExaminingNotes {
  var folder: TemporaryFolder { notes.folder }
  var path: String { notes.path }
  var databasePath: String { notes.databasePath }
  var key: [UInt8] { notes.key }

  func doctor() throws -> Doctor {
    try Doctor(path: path, schemas: [RestorationSchema.schema]) { try keyFileSecret(1) }
  }

  func examine() throws -> Diagnosis { try doctor().examine() }

  /// Examines, repairs, and examines again.
  func repair() throws -> (report: RepairReport, after: Diagnosis) {
    let doctor = try doctor()
    let report = try doctor.repair(try doctor.examine())
    return (report, try doctor.examine())
  }

  func write(_ body: (WriteConnection) throws -> Void) throws {
    let database = try Database(path: databasePath, key: try #require(PlainKey(key)))
    defer { database.close() }
    try database.write(body)
    try database.withWriter { _ = try $0.checkpoint() }
  }

  /// Changes bytes of pages of the main file, which count from 1.
  func damage(_ pages: [Int]) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: databasePath))
    for page in pages {
      try file.seek(toOffset: UInt64(page - 1) * 4096 + 100)
      try file.write(contentsOf: Data([0x55, 0xaa, 0x12]))
    }
    try file.close()
  }

  /// The largest number of a root page of a table or its indexes.
  func rootPage(of name: String) throws -> Int {
    let database = try Database(path: databasePath, key: try #require(PlainKey(key)))
    defer { database.close() }
    return try #require(
      try database.read { try $0.fetchOne("SELECT rootpage FROM sqlite_schema WHERE name = \(name)", as: Int.self) })
  }

  func pageCount() throws -> Int { try #require(Files.size(of: databasePath)) / 4096 }

  func checks(_ diagnosis: Diagnosis) -> [String] { diagnosis.findings.map(\.check) }
}
