import CipherSQL
import Foundation
import Platform
import RestorationModel
import SQLCipherStorage
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import PostgresStorage

/// Both engines have the same responses to the same drawn transactions.
@Suite(.serialized) struct EngineComparisonTests {
  private static let account = StorageConformance.accounts[0]

  /// Drawn transactions run on an account without keys, on a sealed one, and on one that is sealed in the middle and gets
  /// other keys later.
  @Test("both engines store and return the same after the same drawn transactions", arguments: 1...12)
  func agree(_ seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    let data = try serverFolder(folder.path + "/data", accounts: [Self.account.folder])
    let embedded = try EmbeddedStorage(in: data, schemas: [RestorationSchema.schema], accounts: [])
    let file = try SealKeyFile()
    var settings = PostgresSettings(url: try SharedPostgres.server.url(try SharedPostgres.server.makeDatabase()))
    settings.connections = 6
    if seed % 3 == 1 { settings.sealKeys = try file.keys() }
    var postgres = try makeStorage(settings)
    defer {
      embedded.close()
      postgres.close()
    }
    var draw = DrawnTransactions(seed)
    var results: [String] = []
    for number in 1...60 {
      if seed % 3 == 2, number == 20 {
        postgres.close()
        settings.sealKeys = try file.keys()
        postgres = try PostgresStorage(PostgresDatabase(settings), schemas: [RestorationSchema.schema])
      }
      if seed % 3 == 2, number == 35 || number == 50 {
        try file.addFirst()
        _ = try await postgres.rotateSealKeys(renewingAccountKeys: number == 50)
      }
      let steps = draw.transaction()
      let told = (try await Self.run(steps, on: embedded), try await Self.run(steps, on: postgres))
      try #require(told.0 == told.1, "seed \(seed), transaction \(number): \(steps)")
      results += told.0
      if number % 20 == 0 {
        let limit = draw.time - 30
        try await embedded.forget(Self.account, before: limit)
        try await postgres.forget(Self.account, before: limit)
      }
      let query = draw.query()
      let answers = (try await Self.ask(query, embedded), try await Self.ask(query, postgres))
      try #require(answers.0 == answers.1, "seed \(seed), after transaction \(number): \(query)")
    }
    let cascades = results.filter { $0.contains(" with ") && !$0.hasSuffix(" with 0") }
    #expect(cascades.count > 5, "seed \(seed) draws too few deletions with dependents")
    let reused = try await embedded.read(Self.account) { data in
      let records = try data.changes(after: 0, limit: 1_000, projects: nil).records.compactMap {
        try data.record($0.name)
      }
      #expect(
        Set(records.map { "\($0.name.entityType) \($0.serverId)" }).count == records.count, "an id has two records")
      return zip(records, records.dropFirst()).count { $0.serverId > $1.serverId }
    }
    #expect(reused > 0, "seed \(seed) assigns no former id")
  }

  /// Returns what each step returned, as text.
  private static func run(_ steps: [Step], on storage: any RecordStorage) async throws -> [String] {
    try await storage.write(account) { data in
      var results = try steps.map { step in
        do {
          return try data.attempt { try step.run(in: data) }
        } catch let refusal as StorageRefusal {
          return "\(refusal)"
        }
      }
      let count = try data.recordCount
      #expect(try data.entityDigests(projects: nil).values.reduce(0) { $0 + $1.count } == count)
      results.append("\(count) records")
      return results
    }
  }

  private static func ask(_ query: DrawnTransactions.Query, _ storage: any RecordStorage) async throws -> [String] {
    let projects = query.projects
    return try await storage.read(account) { data in
      let page = try data.changes(after: query.after, limit: query.limit, projects: projects)
      var lines = try page.records.map { "\($0.sequence) \(try $0.content.complete().wire.json)" }
      lines += try page.records.map { Step.text(try #require(try data.record($0.name))) }
      lines.append("end \(page.end), left \(page.remaining), last \(try data.lastSequence), from \(try data.horizon)")
      lines.append(
        "time \(try data.largestStoredTime ?? -1), epochs \(try data.epochs.epochs.count), \(try data.hasJobs)")
      for (type, digest) in try data.entityDigests(projects: projects).sorted(by: { $0.key < $1.key }) {
        lines.append("\(type) \(digest)")
        let buckets = try data.bucketDigests(of: type, projects: projects).sorted { $0.key < $1.key }
        lines += buckets.map { "\($0.key) \($0.value)" }
        lines += try data.recordDigests(of: type, buckets: buckets.prefix(5).map(\.key), projects: projects)
          .map { "\($0)" }
      }
      for name in query.names { lines.append("\(String(describing: try data.record(name).map(Step.text)))") }
      lines += try data.contentsInUse(among: query.contents).sorted()
      for content in query.contents { lines += try data.claims(on: content).map { "\($0)" }.sorted() }
      return lines
    }
  }
}

/// A step of a transaction.
private enum Step: Sendable {
  case store(RecordName, SyncObject, formerId: Int64?, time: Int64)
  case delete(RecordName, Bool, time: Int64)
  case keepDeleted(RecordName)
  case respond(String, time: Int64)
  case mark(String, Int64, time: Int64)
  case tombstone(RecordName, time: Int64)
  case removeTombstone(RecordName)
  case epoch(time: Int64)
  /// Stores a version and undoes it.
  case undone(RecordName, SyncObject, formerId: Int64?, time: Int64)

  private struct Undo: Error {}

  func run(in data: any RecordWriting) throws -> String {
    switch self {
    case .store(let name, let fields, let formerId, let time):
      return try Self.text(Self.store(name, fields, formerId, time, data))
    case .delete(let name, let isDeleted, let time):
      guard let before = try data.record(name) else { return "unknown" }
      let state = before.state.applying(RecordPatch(isDeleted: isDeleted, updatedAt: time))
      let after = try data.store(name, over: before, state, createdAt: 1, at: time)
      return Self.text(after) + " with \(try data.cascade(from: after, at: time))"
    case .keepDeleted(let name):
      guard let record = try data.record(name), record.state.isDeleted else { return "not deleted" }
      try data.keepDeleted(record)
      return "kept"
    case .respond(let key, let time):
      if let known = try data.storedResponse(for: key) { return "\(known)" }
      try data.keep(response: "{\"at\":\(time)}", to: OperationContent(key: key, operation: [:]), at: time)
      return "stored"
    case .mark(let device, let counter, let time):
      let before = try data.mark(of: device)
      try data.keep(DeviceCounter(counter: counter, digest: "d\(counter)"), of: device, at: time)
      return "\(String(describing: before))"
    case .tombstone(let name, let time):
      let had = try data.hasTombstone(of: name)
      try data.keepTombstone(of: name, at: time)
      return "\(had)"
    case .removeTombstone(let name):
      try data.removeTombstone(of: name)
      return "\(try data.hasTombstone(of: name))"
    case .epoch(let time): return "\(try data.startEpoch(at: time).count)"
    case .undone(let name, let fields, let formerId, let time):
      do {
        try data.attempt {
          _ = try Self.store(name, fields, formerId, time, data)
          throw Undo()
        }
      } catch is Undo {}
      return "undone"
    }
  }

  private static func store(
    _ name: RecordName, _ fields: SyncObject, _ formerId: Int64?, _ time: Int64, _ data: any RecordWriting
  ) throws -> ServerRecord {
    let before = try data.record(name)
    let patch = RecordPatch(fields: fields, updatedAt: time)
    let state = before?.state.applying(patch) ?? RecordState(fields: fields, updatedAt: time)
    return try data.store(
      name, over: before, state, createdAt: time, formerId: formerId, computing: [], serviceFields: nil, at: time)
  }

  /// A text with members in a fixed order.
  static func text(_ record: ServerRecord) -> String {
    let state = record.state
    return [
      "\(record.name) \(record.serverId) \(record.sequence) \(record.createdAt) \(record.firstVersion)",
      "\(SyncValue.object(SyncObject(state.fields.members.sorted { $0.name < $1.name }.map { ($0.name, $0.value) })).json)",
      "\(state.isDeleted) \(state.syncVersion) \(state.updatedAt) \(state.editTimes.sorted { $0.key < $1.key })",
      "\(state.userEditedFields.sorted()) \(record.fieldVersions.sorted { $0.key < $1.key })",
      "\(record.startVersions.sorted { $0.key < $1.key }) \(String(describing: record.deletedWith))",
      "\(record.serviceFields.sorted())",
    ].joined(separator: " ")
  }
}

/// Transactions that a seed draws.
private struct DrawnTransactions {
  struct Query: Sendable {
    let after: Int64?
    let limit: Int
    let projects: Set<String>?
    let names: [RecordName]
    let contents: [String]
  }

  private var random: Seeded
  private var formerIds: Seeded
  private var names: [RecordName] = []
  private(set) var time: Int64 = 1_000
  private var keys: [String] = []
  private var deleted: [RecordName] = []

  init(_ seed: UInt64) { (random, formerIds) = (Seeded(seed), Seeded(seed)) }

  private mutating func uuid() -> String {
    let hex = HexText.text(random.bytes(16))
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)].map { Array(hex)[$0.0..<$0.1] }
    return parts.map { String($0) }.joined(separator: "-")
  }

  private mutating func some(_ type: String) -> String {
    let known = names.filter { $0.entityType == type }.map(\.entityUuid)
    return (Int.random(in: 0..<8, using: &random) == 0 ? nil : known.randomElement(using: &random)) ?? uuid()
  }

  private mutating func text() -> SyncValue {
    guard Int.random(in: 0..<4, using: &random) == 0 else { return "Elm" }
    let texts = ["", " ", "Oak \u{0} end", "\u{1F3E0}", "'\"\\", String(repeating: "long ", count: 600)]
    return .text(texts.randomElement(using: &random) ?? "")
  }

  private mutating func fields(_ type: String) -> SyncObject {
    switch type {
    case "Project": return ["title": text()]
    case "Room": return ["title": text(), "projectId": .text(some("Project"))]
    default:
      return [
        "projectId": .text(some("Project")), "roomId": .text(some("Room")),
        "relativeHumidity": .integer(Int64.random(in: -20...120, using: &random)), "temperature": .integer(70),
        "date": "2026-01-01T00:00:00.000Z",
      ]
    }
  }

  private mutating func name() -> RecordName {
    if Int.random(in: 0..<3, using: &random) > 0, let known = names.randomElement(using: &random) { return known }
    let types = ["Project", "Room", "Room", "AtmosphericLog", "AtmosphericLog"]
    let name = RecordName(types.randomElement(using: &random) ?? "Project", uuid())
    names.append(name)
    return name
  }

  /// Draws an id as it may be free after the beginning of an epoch, or belong to a record.
  private mutating func formerId() -> Int64? {
    switch Int.random(in: 0..<4, using: &formerIds) {
    case 0: Int64.random(in: -1...60, using: &formerIds)
    case 1: Int64.random(in: 1_000_000...1_000_060, using: &formerIds)
    default: nil
    }
  }

  private mutating func step() -> Step {
    time += Int64.random(in: 0...3, using: &random)
    let name = name()
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<9: return .store(name, fields(name.entityType), formerId: formerId(), time: time)
    case 9..<11:
      // Projects, because most other records depend on one.
      let projects = names.filter { $0.entityType == "Project" }
      let root = projects.randomElement(using: &random) ?? name
      deleted.append(root)
      return .delete(root, true, time: time)
    case 11..<14: return .delete(deleted.randomElement(using: &random) ?? name, false, time: time)
    case 14: return .keepDeleted(name)
    case 15:
      keys.append(keys.isEmpty || Bool.random(using: &random) ? uuid() + String(repeating: "k", count: 300) : keys[0])
      return .respond(keys.last ?? "", time: time)
    case 16: return .mark("tablet \(Int.random(in: 0..<3, using: &random))", time, time: time)
    case 17: return Bool.random(using: &random) ? .tombstone(name, time: time) : .removeTombstone(name)
    case 18: return Int.random(in: 0..<4, using: &random) == 0 ? .epoch(time: time) : .keepDeleted(name)
    default: return .undone(name, fields(name.entityType), formerId: formerId(), time: time)
    }
  }

  mutating func transaction() -> [Step] { (0..<Int.random(in: 1...6, using: &random)).map { _ in step() } }

  mutating func query() -> Query {
    let after = Bool.random(using: &random) ? nil : Int64.random(in: 0...200, using: &random)
    let projects = Set(names.filter { $0.entityType == "Project" }.map(\.entityUuid).shuffled(using: &random).prefix(2))
    return Query(
      after: after, limit: Int.random(in: 1...40, using: &random),
      projects: Bool.random(using: &random) ? nil : projects,
      names: Array(names.shuffled(using: &random).prefix(4)), contents: [uuid()])
  }
}
