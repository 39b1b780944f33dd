import Foundation
import ServerStorage
import SyncModel
import TestSupport
import Testing

/// The guarantees of `RecordStorage`, checked over any engine that has the tables of the restoration schema.
///
/// An engine's own test creates an empty storage for each check and calls ``all``.
package struct StorageConformance: Sendable {
  let make: @Sendable () async throws -> any RecordStorage
  /// The accounts of a storage.
  package static let accounts = [one, two]
  private static let one = AccountName(name: "one", folder: "00000000000000000000000000000001")
  private static let two = AccountName(name: "two", folder: "00000000000000000000000000000002")

  var one: AccountName { Self.one }
  var two: AccountName { Self.two }

  /// - Parameter make: creates an empty storage with ``accounts``.
  package init(_ make: @escaping @Sendable () async throws -> any RecordStorage) { self.make = make }

  /// The names of the checks.
  package static let names = StorageConformance { throw Unexpected("only the names are used") }.all.map(\.name)

  /// The checks by name.
  package var all: [(name: String, check: @Sendable () async throws -> Void)] {
    [
      ("a record is read as it was stored", readsWhatWasStored),
      ("accounts do not see each other", accountsAreApart),
      ("a write that throws leaves nothing", throwingLeavesNothing),
      ("of writes at once, only those that throw leave nothing", writesAtOnce),
      ("an attempt that throws leaves the rest", attemptLeavesTheRest),
      ("rules of the data are refusals that name the field", refusals),
      ("versions of fields are known", fieldVersions),
      ("sequences ascend without a change slipping under", sequences),
      ("pages come in order and say what is left", pages),
      ("a deletion takes along what refers to it", deletions),
      ("what a deletion took along comes back with it", returns),
      ("old deletions and responses are forgotten", forgetting),
      ("who waits is told", waiting),
    ]
  }

  func state(_ fields: SyncObject, _ previous: ServerRecord? = nil) -> RecordState {
    let patch = RecordPatch(fields: fields, updatedAt: 1_000)
    return previous?.state.applying(patch) ?? RecordState(fields: fields, updatedAt: 1_000)
  }

  func project(_ uuid: String, _ title: String = "Elm", in data: any RecordWriting) throws -> ServerRecord {
    try data.store(
      RecordName("Project", uuid), over: nil, state(["title": .text(title)]), createdAt: 900, at: 2_000)
  }

  private func writesAtOnce() async throws {
    let storage = try await make()
    defer { storage.close() }
    struct Thrown: Error {}
    let uuids = (0..<40).map { _ in newUuid() }
    let stored = await withTaskGroup(of: Bool.self) { group in
      for (index, uuid) in uuids.enumerated() {
        group.addTask {
          do {
            let record = try await storage.write(one) { data in
              let record = try project(uuid, in: data)
              if index % 10 == 7 { throw Thrown() }
              return record
            }
            let read = try await storage.read(one) { try $0.record(record.name) }
            return read == record
          } catch {
            return error is Thrown && index % 10 == 7
          }
        }
      }
      return await group.reduce(true) { $0 && $1 }
    }
    #expect(stored)
    let page = try await storage.read(one) { try $0.changes(after: 0, limit: 100, projects: nil) }
    #expect(page.records.map(\.sequence) == Array(1...36))
  }

  private func readsWhatWasStored() async throws {
    let storage = try await make()
    defer { storage.close() }
    let uuid = newUuid()
    let stored = try await storage.write(one) { try project(uuid, "Elm", in: $0) }
    let read = try await storage.read(one) { try $0.record(RecordName("Project", uuid)) }
    #expect(read == stored)
    #expect(stored.version == 1 && stored.serverId == 1 && stored.createdAt == 900)
    #expect(stored.state.fields["title"] == "Elm")
    #expect(stored.state.fields["status"] == "active", "defaults of the schema hold")
    #expect(try await storage.read(one) { try $0.isDeleted(RecordName("Project", uuid)) } == false)
    #expect(try await storage.read(one) { try $0.isDeleted(RecordName("Project", newUuid())) } == nil)
  }

  private func accountsAreApart() async throws {
    let storage = try await make()
    defer { storage.close() }
    let uuid = newUuid()
    _ = try await storage.write(one) { data in
      try data.keep(response: "{}", to: OperationContent(key: "op", operation: [:]), at: 1)
      return try project(uuid, in: data)
    }
    #expect(try await storage.read(two) { try $0.record(RecordName("Project", uuid)) } == nil)
    #expect(try await storage.write(two) { try $0.storedResponse(for: "op") } == nil)
    let epochs = (
      try await storage.read(one) { try $0.epochs.current }, try await storage.read(two) { try $0.epochs.current }
    )
    #expect(epochs.0 != epochs.1)
  }

  private struct Stop: Error {}

  private func throwingLeavesNothing() async throws {
    let storage = try await make()
    defer { storage.close() }
    let uuid = newUuid()
    await #expect(throws: Stop.self) {
      try await storage.write(one) { data in
        _ = try project(uuid, in: data)
        try data.keep(response: "{}", to: OperationContent(key: "op", operation: [:]), at: 1)
        throw Stop()
      }
    }
    #expect(try await storage.read(one) { try $0.record(RecordName("Project", uuid)) } == nil)
    #expect(try await storage.read(one) { try $0.lastSequence } == 0)
    #expect(try await storage.write(one) { try $0.storedResponse(for: "op") } == nil)
  }

  private func attemptLeavesTheRest() async throws {
    let storage = try await make()
    defer { storage.close() }
    let (kept, undone) = (newUuid(), newUuid())
    try await storage.write(one) { data in
      _ = try project(kept, in: data)
      #expect(throws: Stop.self) {
        try data.attempt {
          _ = try project(undone, in: data)
          throw Stop()
        }
      }
      try data.keep(response: "{}", to: OperationContent(key: "op", operation: [:]), at: 1)
    }
    #expect(try await storage.read(one) { try $0.isDeleted(RecordName("Project", kept)) } == false)
    #expect(try await storage.read(one) { try $0.isDeleted(RecordName("Project", undone)) } == nil)
    #expect(try await storage.write(one) { try $0.storedResponse(for: "op")?.result } == "{}")
  }

  private func refusals() async throws {
    let storage = try await make()
    defer { storage.close() }
    try await storage.write(one) { data in
      func refusal(_ fields: SyncObject) -> StorageRefusal? {
        do {
          let name = RecordName("Project", newUuid())
          _ = try data.store(name, over: nil, state(fields), createdAt: 1, at: 1)
          return nil
        } catch {
          return error as? StorageRefusal
        }
      }
      guard case .invalid("title", let message)? = refusal(["title": " "]) else { throw Stop() }
      #expect(!message.contains("' '"))
      guard case .invalid("status", _)? = refusal(["title": "a", "status": "unheard"]) else { throw Stop() }
      guard case .invalid("title", _)? = refusal([:]) else { throw Stop() }
      #expect(try data.lastSequence == 0)
    }
  }

  private func fieldVersions() async throws {
    let storage = try await make()
    defer { storage.close() }
    let name = RecordName("Project", newUuid())
    try await storage.write(one) { data in
      let first = try project(name.entityUuid, in: data)
      let second = try data.store(
        name, over: first, state(["title": "Oak"], first), createdAt: 1, at: 3)
      #expect(second.version == 2 && second.serverId == first.serverId && second.createdAt == first.createdAt)
      #expect(second.hasChanged("title", after: 1) && !second.hasChanged("title", after: 2))
      #expect(!second.hasChanged("status", after: 1))
      let read = try data.record(name)
      #expect(read == second)
    }
  }

  private func sequences() async throws {
    let storage = try await make()
    defer { storage.close() }
    // Writers write while a reader follows: versions that the reader has passed never change.
    let writers = 4
    let each = 25
    let seen = try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<writers {
        group.addTask {
          for _ in 0..<each { _ = try await storage.write(one) { try project(newUuid(), in: $0) } }
        }
      }
      var last: Int64 = 0
      var seen = 0
      while seen < writers * each {
        let page = try await storage.read(one) { [last] in try $0.changes(after: last, limit: 10, projects: nil) }
        #expect(page.records.map(\.sequence) == page.records.map(\.sequence).sorted())
        #expect(page.records.allSatisfy { $0.sequence > last })
        seen += page.records.count
        last = page.end
      }
      try await group.waitForAll()
      return seen
    }
    #expect(seen == writers * each)
  }

  private func pages() async throws {
    let storage = try await make()
    defer { storage.close() }
    let uuids = (0..<25).map { _ in newUuid() }
    try await storage.write(one) { data in for uuid in uuids { _ = try project(uuid, in: data) } }
    let first = try await storage.read(one) { try $0.changes(after: nil, limit: 10, projects: nil) }
    #expect(first.records.map(\.name.entityUuid) == Array(uuids.prefix(10)) && first.remaining == 15)
    let last = try await storage.read(one) { try $0.changes(after: first.end, limit: 100, projects: nil) }
    #expect(last.records.map(\.name.entityUuid) == Array(uuids.dropFirst(10)) && last.remaining == 0)
    let chosen = try await storage.read(one) {
      try $0.changes(after: nil, limit: 100, projects: [uuids[3]])
    }
    #expect(chosen.records.map(\.name.entityUuid) == [uuids[3]])
    let many = (0..<450).map { _ in newUuid() }
    try await storage.write(one) { data in for uuid in many { _ = try project(uuid, in: data) } }
    let large = try await storage.read(one) { try $0.changes(after: last.end, limit: 440, projects: nil) }
    #expect(large.records.map(\.name.entityUuid) == Array(many.prefix(440)) && large.remaining == 10)
  }

  private func deletions() async throws {
    let storage = try await make()
    defer { storage.close() }
    let (parent, child) = (RecordName("Project", newUuid()), RecordName("Room", newUuid()))
    let version = try await storage.write(one) { data in
      let project = try project(parent.entityUuid, in: data)
      _ = try data.store(
        child, over: nil, state(["title": "Hall", "projectId": .text(parent.entityUuid)]), createdAt: 1, at: 2)
      let deleted = try data.store(
        parent, over: project, project.state.applying(RecordPatch(isDeleted: true, updatedAt: 5_000)), createdAt: 1,
        at: 3)
      #expect(try data.cascade(from: deleted, at: 3) == 1)
      return try data.record(child)
    }
    #expect(version?.state.isDeleted == true && version?.version == 2)
    #expect(version?.state.editTime(of: RecordState.deletionField) == 5_000)
    #expect(version?.hasChanged(RecordState.deletionField, after: 1) == true)
    let live = try await storage.read(one) { try $0.changes(after: nil, limit: 10, projects: nil) }
    #expect(live.records.isEmpty)
    let all = try await storage.read(one) { try $0.changes(after: 0, limit: 10, projects: nil) }
    #expect(all.records.map(\.name) == [parent, child])
  }

  /// Two rooms in a project and a reading in each; the second room is deleted by itself, too.
  private func returns() async throws {
    let storage = try await make()
    defer { storage.close() }
    let house = RecordName("Project", newUuid())
    let rooms = (0..<2).map { _ in RecordName("Room", newUuid()) }
    let readings = (0..<2).map { _ in RecordName("AtmosphericLog", newUuid()) }
    try await storage.write(one) { data in
      _ = try project(house.entityUuid, in: data)
      for (room, reading) in zip(rooms, readings) {
        _ = try data.store(
          room, over: nil, state(["title": "Hall", "projectId": .text(house.entityUuid)]), createdAt: 1, at: 2)
        let fields: SyncObject = [
          "projectId": .text(house.entityUuid), "roomId": .text(room.entityUuid), "relativeHumidity": .integer(50),
          "temperature": .integer(70), "date": "2026-01-01T00:00:00.000Z",
        ]
        _ = try data.store(reading, over: nil, state(fields), createdAt: 1, at: 2)
      }
    }
    @Sendable func mark(_ name: RecordName, isDeleted: Bool, at time: Int64, in data: any RecordWriting) throws
      -> ServerRecord
    {
      let before = try #require(try data.record(name))
      let state = before.state.applying(RecordPatch(isDeleted: isDeleted, updatedAt: time))
      return try data.store(name, over: before, state, createdAt: 1, at: time)
    }
    @Sendable func live(_ data: any RecordWriting) throws -> [Bool] {
      try (rooms + readings).map { try data.isDeleted($0) == false }
    }
    try await storage.write(one) { data in
      let deleted = try mark(house, isDeleted: true, at: 3, in: data)
      #expect(try data.cascade(from: deleted, at: 3) > 0)
      try data.keepDeleted(try #require(try data.record(rooms[1])))
      #expect(try live(data) == [false, false, false, false])
      // An edit that comes late changes nothing about why it is deleted.
      let room = try #require(try data.record(rooms[0]))
      let edited = room.state.applying(RecordPatch(fields: ["title": "Attic"], updatedAt: 3))
      _ = try data.store(rooms[0], over: room, edited, createdAt: 1, at: 3)
      let back = try mark(house, isDeleted: false, at: 4, in: data)
      #expect(try data.cascade(from: back, at: 4) > 0)
      #expect(try live(data) == [true, false, true, false])
      #expect(try data.record(readings[0])?.version == 3)
      #expect(try data.record(readings[0])?.state.editTime(of: RecordState.deletionField) == 4)
      // The other room takes its reading back, which only went along.
      let other = try mark(rooms[1], isDeleted: false, at: 5, in: data)
      #expect(try data.cascade(from: other, at: 5) == 1)
      #expect(try live(data) == [true, true, true, true])
    }
  }

  private func forgetting() async throws {
    let storage = try await make()
    defer { storage.close() }
    let (gone, stays) = (RecordName("Project", newUuid()), RecordName("Project", newUuid()))
    let (early, late) = (RecordName("Project", newUuid()), RecordName("Room", newUuid()))
    try await storage.write(one) { data in
      let record = try project(gone.entityUuid, in: data)
      _ = try project(stays.entityUuid, in: data)
      _ = try data.store(
        gone, over: record, record.state.applying(RecordPatch(isDeleted: true, updatedAt: 1)), createdAt: 1, at: 3)
      try data.keep(response: "{}", to: OperationContent(key: "old", operation: [:]), at: 3)
      try data.keep(response: "{}", to: OperationContent(key: "new", operation: [:]), at: 30)
      try data.keepTombstone(of: early, at: 3)
      try data.keepTombstone(of: late, at: 3)
      try data.keepTombstone(of: late, at: 30)
    }
    try await storage.forget(one, before: 3)
    #expect(try await storage.read(one) { try $0.horizon } == 0)
    try await storage.forget(one, before: 10)
    try await storage.write(one) { data in
      let states = [try data.isDeleted(gone), try data.isDeleted(stays)]
      #expect(states == [nil, false])
      let responses = [try data.storedResponse(for: "old")?.result, try data.storedResponse(for: "new")?.result]
      #expect(responses == [nil, "{}"])
      let horizon = try data.horizon
      #expect(horizon == 3)
      let tombstones = [try data.hasTombstone(of: early), try data.hasTombstone(of: late)]
      #expect(tombstones == [false, true])
      try data.removeTombstone(of: late)
      let isRemoved = try !data.hasTombstone(of: late)
      #expect(isRemoved)
    }
    try await storage.write(two) { data in
      let isOfOther = try data.hasTombstone(of: late)
      #expect(!isOfOther)
    }
  }
}
