import CipherSQL
import Foundation
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage

/// The memberships that an account keeps.
@Suite struct MembershipRowTests {
  private let one: OneAccount
  private var account: AccountName { one.account }

  init() throws { one = try OneAccount() }

  private static func store(_ name: RecordName, _ fields: SyncObject, in data: any RecordWriting) throws -> ServerRecord
  {
    let state = RecordState(fields: fields, updatedAt: 1)
    return try data.store(name, over: nil, state, createdAt: 1, at: 1)
  }

  private func visible(_ viewer: Viewer, _ storage: EmbeddedStorage) async throws -> Set<String> {
    try await storage.read(account) { MemberScope(try $0.memberships(of: viewer)).projects }
  }

  /// An account from before memberships were kept: `uuids` are two users and three projects, of which the second has a crew and
  /// the third had one.
  private func older(_ storage: EmbeddedStorage, _ uuids: [String]) async throws {
    try await storage.write(account) { data in
      for user in uuids.prefix(2) {
        _ = try Self.store(RecordName("User", user), ["email": .text("\(user)@x.org")], in: data)
      }
      for project in uuids.suffix(3) { _ = try Self.store(RecordName("Project", project), ["title": "Dam"], in: data) }
      for project in uuids.suffix(2) {
        _ = try Self.store(
          RecordName("ProjectCrew", newUuid()), ["projectId": .text(project), "userId": .text(uuids[0])], in: data)
      }
    }
  }

  @Test("Memberships are found again from the records, in any order of them", arguments: [false, true])
  func found(_ isReversed: Bool) async throws {
    let uuids = (0..<5).map { _ in newUuid() }
    let storage = try one.storage()
    defer { storage.close() }
    try await older(storage, uuids)
    try await storage.write(account) { data in
      let writer = try #require(data as? AccountWriter)
      let connection = try #require(writer.rows as? EmbeddedRowsWriter).writer
      try connection.execute("DELETE FROM ServerMembership")
      if isReversed {
        // The membership records come before their projects, as after later edits of the projects.
        try connection.execute("UPDATE ServerRecord SET sequence = 1000 - sequence")
        try connection.execute("UPDATE ServerState SET lastSequence = 1000")
      }
      try writer.rebuild()
    }
    let member = Viewer(userId: 1, record: uuids[0], isLimited: true)
    let other = Viewer(userId: 2, record: uuids[1], isLimited: true)
    #expect(try await visible(member, storage) == Set(uuids.suffix(3)))
    #expect(
      try await visible(other, storage) == [uuids[2]], "a project without members is open, as its creator is unknown")
    // A stranger does not learn of the other projects.
    let scope = try await storage.read(account) { MemberScope(try $0.memberships(of: other)) }
    #expect(scope.lost(since: 0).isEmpty)
    let standing = try await storage.write(account) { try $0.standing(of: other, in: uuids[3]) }
    #expect(standing == .stranger)
    // A second time changes nothing, and a project whose members have left stays closed.
    let before = try await storage.read(account) { try $0.memberships(of: member) + $0.memberships(of: other) }
    let crew = try await storage.read(account) { data in
      try data.changes(after: nil, limit: 100, projects: nil).records.filter { $0.name.entityType == "ProjectCrew" }
        .compactMap {
          try data.record($0.name)
        }
    }
    try await storage.write(account) { data in try #require(data as? AccountWriter).rebuild() }
    #expect(try await storage.read(account) { try $0.memberships(of: member) + $0.memberships(of: other) } == before)
    try await storage.write(account) { data in
      for record in crew {
        let state = record.state.applying(RecordPatch(isDeleted: true, updatedAt: 2))
        _ = try data.store(record.name, over: record, state, createdAt: 1, at: 2)
      }
    }
    try await storage.write(account) { data in try #require(data as? AccountWriter).rebuild() }
    #expect(try await visible(member, storage) == [uuids[2]])
    #expect(try await visible(other, storage) == [uuids[2]])
  }

  @Test("A forgotten project leaves no membership")
  func forgotten() async throws {
    let uuids = (0..<5).map { _ in newUuid() }
    let storage = try one.storage()
    defer { storage.close() }
    try await older(storage, uuids)
    try await storage.write(account) { data in
      let name = RecordName("Project", uuids[3])
      let record = try #require(try data.record(name))
      let state = record.state.applying(RecordPatch(isDeleted: true, updatedAt: 2))
      _ = try data.cascade(from: try data.store(name, over: record, state, createdAt: 1, at: 2), at: 2)
    }
    let member = Viewer(userId: 1, record: uuids[0], isLimited: true)
    #expect(try await visible(member, storage) == Set(uuids.suffix(3)), "the members learn of the deletion")
    try await storage.forget(account, before: 3)
    #expect(try await visible(member, storage) == [uuids[2], uuids[4]])
    let rows = try await storage.read(account) { try $0.memberships(of: member).map(\.key.project) }
    #expect(!rows.contains(uuids[3]))
  }

  @Test("A changed membership record moves the membership, and an undone change none")
  func changed() async throws {
    let uuids = (0..<5).map { _ in newUuid() }
    let storage = try one.storage()
    defer { storage.close() }
    try await older(storage, uuids)
    let (one, two) = (
      Viewer(userId: 1, record: uuids[0], isLimited: true), Viewer(userId: 2, record: uuids[1], isLimited: true)
    )
    struct Undo: Error {}
    try await storage.write(account) { data in
      let crew = try #require(
        try data.changes(after: nil, limit: 100, projects: [uuids[3]]).records.first {
          $0.name.entityType == "ProjectCrew"
        })
      func give(_ user: String) throws {
        let record = try #require(try data.record(crew.name))
        let state = record.state.applying(RecordPatch(fields: ["userId": .text(user)], updatedAt: 2))
        _ = try data.store(crew.name, over: record, state, createdAt: 1, at: 2)
      }
      #expect(throws: Undo.self) {
        try data.attempt {
          try give(uuids[1])
          #expect(
            try data.standing(of: two, in: uuids[3]) == .member && data.standing(of: one, in: uuids[3]) == .formerMember
          )
          throw Undo()
        }
      }
      #expect(try data.standing(of: two, in: uuids[3]) == .formerMember, "the project was open before it had a crew")
      #expect(try data.standing(of: one, in: uuids[3]) == .member)
      try give(uuids[1])
    }
    #expect(try await visible(two, storage).contains(uuids[3]))
    #expect(try await !visible(one, storage).contains(uuids[3]))
  }

  @Test("No query for memberships reads a whole table")
  func plans() async throws {
    let storage = try one.storage()
    defer { storage.close() }
    let plans = try await storage.read(account) { data -> [String] in
      let connection = try #require((data as? AccountReader)?.rows as? EmbeddedRows).connection
      return try [
        "EXPLAIN QUERY PLAN SELECT source FROM ServerMembership WHERE holder = 'a'",
        "EXPLAIN QUERY PLAN SELECT source FROM ServerMembership WHERE holder = 'a' AND project = 'b'",
        "EXPLAIN QUERY PLAN SELECT source FROM ServerMembership WHERE project = 'b' AND source = 'b'",
        """
        EXPLAIN QUERY PLAN SELECT keys FROM ServerRecord INDEXED BY ServerRecord_live
        WHERE isDeleted IN (0, 1) AND project IN ('a', 'b') AND sequence > 1 AND sequence <= 9 ORDER BY sequence
        """,
      ].flatMap { (sql: SQL) in
        try connection.fetchRows(sql, as: Int.self, Int.self, Int.self, String.self).map { $0.3 }
      }
    }
    #expect(plans.allSatisfy { !$0.hasPrefix("SCAN") }, "\(plans)")
    #expect(plans.contains { $0.contains("holder=? AND project=?") }, "\(plans)")
    #expect(plans.contains { $0.contains("isDeleted=? AND project=? AND rowid>? AND rowid<?") }, "\(plans)")
  }
}
