import CipherSQL
import Foundation
import TestSupport
import VaultStore
import RestorationModel
import VaultKeys

/// Files that are taken in, each known by its number: every third is a real picture with something behind it, the others
/// are random bytes of many sizes.
enum Photos {
  private static let picture = URL(filePath: packagePath("Tests/Data/rocket.jpg"))

  static func content(_ number: Int) throws -> Data {
    var random = Seeded(UInt64(number))
    let size = [0, 100, 70_000, 300_000, 1 << 20, 1_500_000][number % 6]
    var bytes = number % 3 == 1 ? try Data(contentsOf: picture) : Data(capacity: size)
    let end = bytes.count + (number % 3 == 1 ? 16 : size)
    while bytes.count < end { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
    return bytes.prefix(end)
  }

  static func name(_ number: Int) -> String { "\(number).bin" }

  /// The project that photos belong to.
  static let project = UUID(uuidString: "01900000-0000-7000-8000-000000000001")

  static func makeProject(in vault: Vault) throws {
    _ = try vault.put(try vault.entities.entity("Project"), [("title", .text("House"))], uuid: project)
  }
}

/// What the child does with photos: takes some in, deletes some, and makes room. What it says stands before what is to be
/// relied on (`removing UUID`) or behind it (`added NUMBER UUID`, `removed UUID`).
struct PhotoWork {
  let vault: Vault
  let sources: String
  var random: Seeded
  private var number = 1
  private var photos: [UUID] = []

  init(_ vault: Vault, sources: String, seed: UInt64) {
    (self.vault, self.sources, random) = (vault, sources, Seeded(seed))
  }

  mutating func run(steps: Int, tell: (String) -> Void) throws {
    for _ in 0..<steps {
      switch Int.random(in: 0..<10, using: &random) {
      case 0...1: try photos.isEmpty ? add(tell) : remove(tell)
      case 2: try makeRoom()
      default: try add(tell)
      }
    }
  }

  private mutating func add(_ tell: (String) -> Void) throws {
    // Now and then one that is there already.
    let known = number > 3 && Int.random(in: 0..<6, using: &random) == 0
    let which = known ? Int.random(in: 1..<number, using: &random) : number
    let path = sources + "/" + Photos.name(which)
    try Photos.content(which).write(to: URL(filePath: path))
    let project = try vault.entities.entity("Project")
    guard let owner = Photos.project else { throw Unexpected("no project") }
    let uuid = try vault.attach([path], to: project, owner)[0]
    tell("added \(which) \(uuid.sqlText)")
    photos.append(uuid)
    if !known { number += 1 }
  }

  private mutating func remove(_ tell: (String) -> Void) throws {
    let uuid = photos.remove(at: Int.random(in: 0..<photos.count, using: &random))
    tell("removing \(uuid.sqlText)")
    _ = try vault.removeAttachments([uuid])
    // The server is told, and the round purges.
    try vault.syncNow { transaction in
      try transaction.connection.execute("DELETE FROM OfflineSyncQueue WHERE operationType = 'delete'")
      try transaction.connection.execute("UPDATE OfflinePhoto SET isDirty = 0 WHERE isDeleted = 1")
      _ = try transaction.purgeDeleted(limit: 100)
    }
    try vault.sweepAttachments()
    tell("removed \(uuid.sqlText)")
  }

  /// Everything is sent, and some of it makes room.
  private mutating func makeRoom() throws {
    try vault.syncNow { transaction in
      try transaction.connection.execute("DELETE FROM OfflineSyncQueue")
      try transaction.connection.execute("UPDATE OfflinePhoto SET syncVersion = 1, isDirty = 0, syncStatus = 'synced'")
      while let transfer = try transaction.nextUpload() {
        try transaction.uploadCompleted(transfer, compared: String(repeating: "0", count: 64))
      }
    }
    try vault.setPreference(.storageLimit, "\(Int.random(in: 0...2_000, using: &random))KB")
    try vault.evict()
  }
}

/// The invariants of photos after any fault.
enum PhotoCheck {
  static func whole(_ path: String, keyFile: String, told: String) throws {
    let vault = try Vault.open(at: path, with: try .keyFile(at: keyFile), outdated: .leave)
    defer { vault.close() }
    let found = try vault.verifyAttachments()
    if let problem = found.problems.first { throw Unexpected("\(problem.kind): \(problem.message)") }
    var present: [String: AttachmentRecord] = [:]
    try vault.forEachAttachment { present[$0.uuid] = $0 }
    for photo in present.values { try check(photo, in: vault) }
    let unfinished = try files(in: path).filter { $0.hasSuffix(".part") }
    guard unfinished.isEmpty else { throw Unexpected("left behind: \(unfinished)") }
    try compare(present, with: told)
    // It goes on from there.
    let sources = URL(filePath: path).deletingLastPathComponent().path
    var work = PhotoWork(vault, sources: sources, seed: 7)
    try work.run(steps: 3) { _ in }
  }

  private static func check(_ photo: AttachmentRecord, in vault: Vault) throws {
    guard let name = photo.fileName?.split(separator: ".").first, let number = Int(name),
      let uuid = UUID(sqlText: photo.uuid)
    else { throw Unexpected("a photo is called \(photo.fileName ?? "nothing")") }
    switch photo.full {
    case "here":
      let reader = try vault.openAttachment(uuid)
      guard try Data(reader.read(0..<reader.byteCount)) == Photos.content(number) else {
        throw Unexpected("photo \(number) is not what was taken in")
      }
    case "evicted":
      guard photo.uploadStatus == "completed" else { throw Unexpected("photo \(number) made room and was never sent") }
    default: throw Unexpected("photo \(number) is \(photo.full ?? "without a content")")
    }
  }

  private static func compare(_ present: [String: AttachmentRecord], with told: String) throws {
    // The last line may be torn by a kill.
    let lines = told.lastIndex(of: "\n").map { told[..<$0].split(separator: "\n") } ?? []
    var added: [String: Substring] = [:]
    for line in lines {
      let words = line.split(separator: " ")
      switch words.first {
      case "added" where words.count == 3: added[String(words[2])] = words[1]
      case "removing" where words.count == 2: added[String(words[1])] = nil
      case "removed" where words.count == 2:
        guard present[String(words[1])] == nil else { throw Unexpected("\(words[1]) was removed and is there") }
      default: throw Unexpected("the child said: \(line)")
      }
    }
    for (uuid, number) in added where present[uuid] == nil {
      throw Unexpected("photo \(number) was acknowledged and is gone")
    }
  }

  private static func files(in vault: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: vault + "/attachments")
  }
}
