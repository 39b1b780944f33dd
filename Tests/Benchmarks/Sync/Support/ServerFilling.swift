import CipherSQL
import Foundation
import PostgresStorage
import VaultStore
import RestorationModel
import SQLCipherStorage
import ServerStorage
import SyncModel
import SyncServer

/// An account of a server that is not running.
struct FilledAccount: Sendable {
  let token: String
  /// Its project, which has version 1 unless the parents were edited.
  let project: String
  /// One of its rooms, which have version 1.
  let room: String
}

enum ServerFilling {
  /// Adds a user with an account of its own.
  static func addUser(_ name: String, in folder: String) throws -> String {
    let directory = try ServerDirectory(in: try ServerFolder(folder, isCreating: true))
    defer { directory.close() }
    return try directory.addUser(name, account: name).token
  }

  /// Adds users with accounts of their own.
  static func addUsers(_ count: Int, in folder: String) throws {
    let directory = try ServerDirectory(in: try ServerFolder(folder, isCreating: true))
    defer { directory.close() }
    for number in 0..<count { _ = try directory.addUser("user\(number)", account: "company\(number)") }
  }

  /// Adds users with accounts of their own to a database, and returns their tokens.
  static func addUsers(_ count: Int, toDatabase url: String) throws -> [String] {
    let database = try PostgresDatabase(PostgresSettings(url: url))
    defer { database.close() }
    let directory = PostgresDirectory(database)
    return try (0..<count).map {
      try directory.addUser("user\($0)", account: "company\($0)", role: .device, expires: nil).token
    }
  }

  /// Adds a user whose account has a project, ten rooms and so many readings.
  /// - Parameter editsParents: whether the rooms and then the project are edited last, so that devices pull them behind the readings.
  static func fill(
    _ name: String, readings count: Int, editsParents: Bool = false, in folder: String
  ) async throws -> FilledAccount {
    let token = try addUser(name, in: folder)
    let place = try ServerFolder(folder, isCreating: false)
    let directory = try ServerDirectory(in: place)
    defer { directory.close() }
    guard let account = try directory.accounts().first(where: { $0.name == name }) else {
      throw BenchmarkFailure("the account \(name) is not there")
    }
    let storage = try EmbeddedStorage(in: place, schemas: [RestorationSchema.schema], accounts: [account])
    defer { storage.close() }
    let project = identifier()
    let rooms = (0..<10).map { _ in identifier() }
    @Sendable func write(_ records: [(type: String, uuid: String, fields: SyncObject)]) async throws {
      try await storage.write(account) { writer in
        for record in records {
          let state = RecordState(fields: record.fields, updatedAt: time)
          _ = try writer.store(
            RecordName(record.type, record.uuid), over: nil, state, createdAt: time, at: time)
        }
      }
    }
    try await write(
      [("Project", project, ["title": "House"])]
        + rooms.map { ("Room", $0, ["projectId": .text(project), "title": "Room", "squareFootage": 120]) })
    for start in stride(from: 0, to: count, by: 10_000) {
      try await write(
        (start..<min(start + 10_000, count)).map {
          ("AtmosphericLog", identifier(), reading($0, project, rooms[$0 % rooms.count]))
        })
    }
    if !editsParents { return FilledAccount(token: token, project: project, room: rooms[0]) }
    try await storage.write(account) { writer in
      for name in rooms.map({ RecordName("Room", $0) }) + [RecordName("Project", project)] {
        guard let record = try writer.record(name) else { throw BenchmarkFailure("\(name) is not there") }
        let state = record.state.applying(RecordPatch(fields: ["title": "Edited"], updatedAt: time + 1))
        _ = try writer.store(name, over: record, state, createdAt: time, at: time + 1)
      }
    }
    return FilledAccount(token: token, project: project, room: rooms[0])
  }

  private static let time: Int64 = 1_767_225_600_000

  static func identifier() -> String { UUID.version7().sqlText }

  static func reading(_ index: Int, _ project: String, _ room: String) -> SyncObject {
    [
      "projectId": .text(project), "roomId": .text(room), "date": .text(WireTime.text(time + Int64(index) * 60_000)),
      "relativeHumidity": SyncValue(real: Double(index % 1000) / 10) ?? .null,
      "temperature": SyncValue(real: 60 + Double(index % 300) / 10) ?? .null,
      "dewPoint": SyncValue(real: 40 + Double(index % 200) / 10) ?? .null,
    ]
  }
}
