import CipherSQL
import Foundation
import GeneratedSchemas
import Platform
import TestSupport
import VaultStore

/// The user's actions on photos: adds, changes, opens, removes, restores and evicts them.
struct Photographer {
  let vault: Vault
  let workload: Workload
  let journal: any Recorder
  /// Names the device in its markers.
  let name: String
  /// The path of a file before it is added. It is not in the vault.
  let camera: String
  let content: PhotoContent
  var random: Seeded
  var transaction: Int

  /// One of these.
  mutating func act() throws {
    transaction += 1
    switch random.number(0..<20) {
    case 0..<10: try take()
    case 10..<12: try remove()
    case 12: try restore()
    case 13: try change()
    case 14..<17: try look()
    default: try changeLimit()
    }
  }

  /// The file is in its place and the record committed, or neither.
  mutating func take() throws {
    // Now and then one that was taken in before.
    let number = random.chance(0.2) ? UInt64(random.number(1..<6)) : random.next()
    let marker = marker()
    let entities = ["Project", "Room", "AtmosphericLog", "MoistureLog"].compactMap { workload.kind($0) }
    guard let (owner, uuid) = try anyone(of: entities[random.number(0..<entities.count)]) else { return }
    let prepared = try prepare(number)
    do {
      try vault.database.write { connection in
        let photo = try prepared.attach(
          to: owner, uuid, fields: [("fileName", .text(marker))], in: connection
        ).sqlText
        journal.intend(
          transaction,
          [
            entry(.mark, photo, marker),
            entry(.photo, photo, TakenPhoto(number: number, digest: prepared.digest).text),
          ])
      }
    } catch let error as VaultError where error.code == .noSuchRecord {
      // Another device has removed its owner meanwhile.
      return
    } catch let error as SQLError where error.code == .constraint {
      return
    }
    journal.acknowledge(transaction)
    withExtendedLifetime(prepared) {}
    try vault.evict()
  }

  private func prepare(_ number: UInt64) throws -> PreparedAttachment {
    try Files.removeTree(camera)
    let file = try OpenFile(creating: camera)
    try file.write(content.bytes(number))
    return try vault.prepareAttachment(from: camera)
  }

  private mutating func remove() throws {
    guard let (_, uuid) = try anyPhoto() else { return }
    journal.intend(transaction, [entry(.delete, uuid.sqlText, "")])
    do {
      _ = try vault.removeAttachments([uuid])
    } catch let error as VaultError where error.code == .noSuchRecord {
      return
    }
    journal.acknowledge(transaction)
  }

  private mutating func restore() throws {
    guard let (_, uuid) = try anyPhoto(isDeleted: true) else { return }
    try write(entry(.revive, uuid.sqlText, ""), "UPDATE OfflinePhoto SET isDeleted = 0 WHERE uuid = \(uuid.sqlText)")
  }

  private mutating func change() throws {
    guard let (_, uuid) = try anyPhoto() else { return }
    let marker = marker()
    try write(
      entry(.mark, uuid.sqlText, marker),
      "UPDATE OfflinePhoto SET fileName = \(marker) WHERE uuid = \(uuid.sqlText) AND isDeleted = 0")
  }

  /// A transaction that changes one photo, or that the tables refuse.
  private func write(_ entry: Journal.Entry, _ statement: SQL) throws {
    do {
      let isDone = try vault.database.write { connection in
        journal.intend(transaction, [entry])
        try connection.execute(statement)
        return connection.changedRowCount > 0
      }
      guard isDone else { return }
    } catch let error as SQLError where error.code == .constraint {
      return
    }
    journal.acknowledge(transaction)
  }

  /// A local photo can be read to its end. A missing one is requested.
  private mutating func look() throws {
    guard let (_, uuid) = try anyPhoto() else { return }
    do {
      let reader = try vault.openAttachment(uuid)
      // The digest of the whole is compared at the end.
      try reader.forEachPart { _ in }
    } catch let error as VaultError where error.code == .noSuchRecord || error.code == .notHere {
      return
    }
  }

  private mutating func changeLimit() throws {
    if random.chance(0.3) {
      try vault.setPreference(.download, random.chance(0.7) ? "all" : "thumbnails")
    } else {
      let limit = random.chance(0.7) ? "\(random.number(0..<content.greatestLimit))KB" : "2GB"
      try vault.setPreference(.storageLimit, limit)
      try vault.evict()
    }
  }

  // MARK: Parts

  private func entry(_ kind: Journal.Kind, _ uuid: String, _ marker: String) -> Journal.Entry {
    Journal.Entry(transaction: transaction, kind: kind, entity: "Photo", uuid: uuid, marker: marker)
  }

  private mutating func marker() -> String {
    "\(Person.markerPrefix)\(name)-\(transaction)-\(String(random.next(), radix: 36))"
  }

  private mutating func anyPhoto(isDeleted: Bool = false) throws -> (entity: String, uuid: UUID)? {
    try workload.kind("Photo").flatMap { try anyone(of: $0, isDeleted: isDeleted) }
  }

  private mutating func anyone(of kind: Kind, isDeleted: Bool = false) throws -> (entity: String, uuid: UUID)? {
    let uuids = try vault.database.read { connection in
      try connection.fetch(
        "SELECT uuid FROM \(identifier: kind.table) WHERE isDeleted = \(isDeleted) ORDER BY uuid", as: String.self)
    }
    guard !uuids.isEmpty, let uuid = UUID(sqlText: uuids[random.number(0..<uuids.count)]) else { return nil }
    return (kind.entity, uuid)
  }
}

/// The journal's entries about a photo.
struct TakenPhoto {
  let number: UInt64
  let digest: String

  var text: String { "\(number) \(digest)" }

  init(number: UInt64, digest: String) { (self.number, self.digest) = (number, digest) }

  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, let number = UInt64(words[0]) else { return nil }
    self.init(number: number, digest: String(words[1]))
  }
}
