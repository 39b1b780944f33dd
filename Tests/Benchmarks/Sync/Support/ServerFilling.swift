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
    try await storage.write(account) { writer in
      func store(_ type: String, _ uuid: String, _ fields: SyncObject) throws {
        let state = RecordState(fields: fields, updatedAt: time)
        _ = try writer.store(RecordName(type, uuid), over: nil, state, createdAt: time, at: time)
      }
      try store("Project", project, ["title": "House"])
      for room in rooms {
        try store("Room", room, ["projectId": .text(project), "title": "Room", "squareFootage": 120])
      }
      for index in 0..<count {
        try store("AtmosphericLog", identifier(), reading(index, project, rooms[index % rooms.count]))
      }
      guard editsParents else { return }
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
