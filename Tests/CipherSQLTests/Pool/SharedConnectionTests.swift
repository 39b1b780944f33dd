import Foundation
import TestSupport
import Testing

@testable import CipherSQL

/// A file whose reads and writes share one connection (`readerCount` 0).
@Suite(.timeLimit(.minutes(20))) struct SharedConnectionTests {
  private static let count: SQL = "SELECT count(*) FROM OfflineProject"

  private let vault: TemporaryVault
  private let database: Database
  private var copyPath: String { vault.folder.file("copy.db") }

  init() throws {
    vault = try TemporaryVault()
    var configuration = Configuration()
    configuration.readerCount = 0
    database = try vault.openHouse(configuration)
  }

  private func projectCount(_ database: Database) throws -> Int? {
    try database.read { try $0.fetchOne(Self.count, as: Int.self) }
  }

  @Test(
    "With readerCount 0 a file has no reading connections; other counts are limited to 1 to 64",
    arguments: [(0, nil), (-1, 1), (1, 1), (4, 4), (65, 64)] as [(Int, Int?)])
  func theCountIsLimited(_ count: Int, _ limit: Int?) {
    var configuration = Configuration()
    configuration.readerCount = count
    #expect(configuration.readerLimit(of: vault.path) == limit)
    #expect(configuration.readerLimit(of: nil) == nil)
  }

  @Test("Reads and writes use one connection, in the synchronous and the asynchronous form")
  func oneConnectionServesBoth() async throws {
    let database = database
    let writer = try await database.write { ObjectIdentifier($0) }
    #expect(try await database.read { ObjectIdentifier($0) } == writer)
    try await database.write { try $0.insert(Project(projectId: 0, title: "Quay")) }
    #expect(try await database.read { try $0.fetchOne(Self.count, as: Int.self) } == 3)
    func synchronous() throws {
      #expect(try database.read { ObjectIdentifier($0) } == writer)
      try database.write { try $0.insert(Project(projectId: 0, title: "Dock")) }
      #expect(try projectCount(database) == 4)
    }
    try synchronous()
    #expect(database.path == vault.path)
  }

  @Test("A read refuses writes, and the next write succeeds", arguments: [true, false])
  func aReadCannotWrite(inMemory: Bool) throws {
    let database = inMemory ? try Database.house() : database
    // Prepared by a write, so that the read takes it from the cache of the connection.
    try database.write { try $0.execute("DELETE FROM OfflineLog WHERE text = 'none'") }
    for _ in 0..<2 {
      let error = #expect(throws: SQLError.self) {
        try database.read { try $0.forEach("DELETE FROM OfflineLog WHERE text = 'none'") { _ in } }
      }
      #expect(error?.code == .readOnly)
    }
    #expect(try database.write { try $0.execute("DELETE FROM OfflineLog") } == 4)
  }

  @Test("The connection has the page cache of a reader") func theCacheIsThatOfAReader() throws {
    var configuration = Configuration()
    configuration.readerCount = 0
    configuration.pageCacheBytes = 32 << 20
    database.close()
    let database = try vault.open(configuration)
    #expect(try database.read { try $0.cacheUse().limitBytes } == 32 << 20)
  }

  @Test("An observed query runs again after a write") func anObservedQueryRunsAgain() async throws {
    let database = database
    let counts = database.observe { try $0.fetchOne(Self.count, as: Int.self) ?? 0 }.makeAsyncIterator()
    #expect(try await counts.next() == 2)
    try await database.write { try $0.insert(Project(projectId: 0, title: "Quay")) }
    #expect(try await counts.next() == 3)
  }

  @Test("The file is replaced, and its bytes can be read, by a separate connection")
  func theFileIsReplaced() throws {
    let key = PlainKey.random()
    let writer = try database.write { ObjectIdentifier($0) }
    try database.replaceFile { snapshot in
      #expect(ObjectIdentifier(snapshot) != writer)
      try snapshot.copyPages(to: copyPath, key: key)
      return (copyPath, key)
    }
    #expect(database.path == copyPath)
    try database.write { try $0.insert(Project(projectId: 0, title: "Quay")) }
    #expect(try projectCount(database) == 3)
    try database.withUnchangingFile { path, bytes in
      #expect(path == copyPath)
      #expect(try Data(contentsOf: URL(filePath: path)).count == bytes)
      try database.write { try $0.insert(Project(projectId: 0, title: "Dock")) }
      #expect(try projectCount(database) == 4)
    }
    database.close()
    #expect(try projectCount(try Database(path: copyPath, key: key)) == 4)
    #expect(try projectCount(try vault.open()) == 2)
  }
}
