import FileServer
import Platform
import SQLCipherStorage
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import PostgresStorage

/// Both engines keep the same rows about files in an object store.
@Suite(.serialized) struct ObjectComparisonTests {
  private static let account = StorageConformance.accounts[0]

  @Test("both engines return the same about files in an object store after the same drawn changes", arguments: 1...4)
  func agree(_ seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    let disk = DiskFileStorage(in: try serverFolder(folder.path + "/data", accounts: [Self.account.folder]))
    let postgres = try makeStorage()
    defer {
      disk.close()
      postgres.close()
    }
    let engines: [any ObjectDatabase] = [EmbeddedObjects(disk), PostgresObjects(postgres.database)]
    var draw = DrawnChanges(seed)
    for number in 1...120 {
      let change = draw.change()
      var results: [[String]] = []
      for engine in engines {
        let told = try await engine.write(Self.account) { "\(try change.run(in: $0))" }
        results.append([told] + (try await Self.state(engine, draw.ids, draw.time)))
      }
      try #require(results[0] == results[1], "seed \(seed), change \(number): \(change)")
    }
  }

  @Test("accounts do not see each other's files, and each has a marker of its own")
  func accountsAreApart() async throws {
    let storage = try makeStorage()
    defer { storage.close() }
    let objects = PostgresObjects(storage.database)
    let upload = ObjectUpload(
      id: "1", userId: 1, name: ContentName(content: newUuid(), variant: .full), byteCount: 5, sha256: "",
      contentType: "image/jpeg")
    try await objects.write(Self.account) { try $0.insert(upload, addressEnd: 1, expiry: 1) }
    let other = StorageConformance.accounts[1]
    #expect(try await objects.read(other) { try $0.upload("1") } == nil)
    #expect(try await objects.read(other) { try $0.usedBytes(1) } == 0)
    let markers = (
      try await objects.read(Self.account) { try $0.storeMarker().text },
      try await objects.read(other) { try $0.storeMarker().text }
    )
    #expect(markers.0 != markers.1 && !markers.0.isEmpty)
  }

  private static func state(_ engine: any ObjectDatabase, _ ids: [String], _ time: Int64) async throws -> [String] {
    try await engine.read(account) { rows in
      var lines = try ids.map { "\(String(describing: try rows.upload($0)))" }
      for name in DrawnChanges.names {
        lines.append("\(String(describing: try rows.content(name)))")
        lines.append("\(String(describing: try rows.upload(of: 1, name)))")
      }
      lines += try (1...2 as ClosedRange<Int64>).map { "\(try rows.usedBytes($0))" }
      lines += [try rows.expired(at: time).sorted(), try rows.contents(after: "", limit: 3)].map { "\($0)" }
      lines.append("\(try rows.contentCount()) \(try rows.someContents(limit: 100).map(\.id).sorted())")
      lines.append("\(try rows.missingContents(since: time).map { "\($0)" }.sorted())")
      lines.append("\(try rows.unusedContents(since: time).map { "\($0)" }.sorted())")
      lines.append("\(try rows.removals(at: time + 50, limit: 5)) \(try rows.storeMarker().isInStore)")
      return lines
    }
  }
}

private enum Change: Sendable {
  case insert(ObjectUpload, addressEnd: Int64, expiry: Int64)
  case extend(String, Int64)
  case replace(String, VerifiedContent, Int64)
  case abandon(String)
  case removeContent(String, Int64)
  case keep(VerifiedContent, String)
  case markMissing(String, Int64)
  case markFound(String)
  case markStore
  case markUsed([String])
  case markUnused([String], Int64)
  case removed([String])

  func run(in rows: any ObjectRowsWriting) throws -> Bool {
    switch self {
    case .insert(let upload, let addressEnd, let expiry):
      guard try rows.upload(of: upload.userId, upload.name) == nil else { return false }
      try rows.insert(upload, addressEnd: addressEnd, expiry: expiry)
    case .extend(let id, let time): try rows.extend(id, addressEnd: time, expiry: time + 5)
    case .replace(let id, let proof, let time):
      guard let upload = try rows.upload(id), try rows.isFree(upload.name, proven: false) else { return false }
      if let known = try rows.content(upload.name) { try rows.removeContent(known.id, notBefore: time) }
      try rows.replaceUpload(id, byContent: proof, at: time)
    case .abandon(let id): try rows.abandon(id)
    case .removeContent(let id, let time): try rows.removeContent(id, notBefore: time)
    case .keep(let proof, let id): try rows.keep(proof, of: id)
    case .markMissing(let id, let time): try rows.markMissing(id, at: time)
    case .markFound(let id): try rows.markFound(id)
    case .markStore: try rows.markStore()
    case .markUsed(let contents): try rows.markUsed(contents)
    case .markUnused(let contents, let time): try rows.markUnused(contents, neverUsedBefore: time - 20, at: time)
    case .removed(let ids): try rows.removed(ids)
    }
    return true
  }
}

/// Changes that a seed draws.
private struct DrawnChanges {
  static let names = ["a", "b", "c", "d"].flatMap { letter in
    [ContentName.Variant.full, .thumbnail].map { ContentName(content: letter, variant: $0) }
  }

  private var random: Seeded
  private(set) var ids: [String] = []
  private(set) var time: Int64 = 100

  init(_ seed: UInt64) { random = Seeded(seed) }

  mutating func change() -> Change {
    time += Int64.random(in: 0...4, using: &random)
    let id = ids.randomElement(using: &random) ?? "none"
    let contents = Self.names.map(\.content).shuffled(using: &random).prefix(3)
    let proof = VerifiedContent(
      sha256: "\(time)", contentDigest: Bool.random(using: &random) ? nil : "digest \(time)")
    switch Int.random(in: 0..<16, using: &random) {
    case 0..<4:
      let new = "id \(ids.count)"
      ids.append(new)
      let upload = ObjectUpload(
        id: new, userId: Int64.random(in: 1...2, using: &random),
        name: Self.names.randomElement(using: &random) ?? Self.names[0],
        byteCount: Int64.random(in: 0...9_000, using: &random), sha256: "s", contentType: "image/jpeg")
      return .insert(upload, addressEnd: time + 3, expiry: time + Int64.random(in: 0...20, using: &random))
    case 4: return .extend(id, time)
    case 5..<8: return .replace(id, proof, time)
    case 8: return .abandon(id)
    case 9: return .removeContent(id, time)
    case 10: return .keep(proof, id)
    case 11: return Bool.random(using: &random) ? .markMissing(id, time) : .markFound(id)
    case 12: return Int.random(in: 0..<5, using: &random) == 0 ? .markStore : .markFound(id)
    case 13: return .markUsed(Array(contents))
    case 14: return .markUnused(Array(contents), time)
    default: return .removed([id])
    }
  }
}
