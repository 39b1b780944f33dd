import CipherSQL
import Foundation
import GeneratedSchemas
import TestSupport
import VaultStore

/// The user's actions on photos: adds, opens, removes and evicts them.
struct Photographer {
  let vault: Vault
  let workload: Workload
  let journal: Journal
  /// Names the device in its markers.
  let name: String
  /// Where a file stands before it is taken in.
  let folder: String
  var random: Seeded
  var transaction: Int

  /// One of these.
  mutating func act() throws {
    transaction += 1
    switch random.number(0..<20) {
    case 0..<11: try take()
    case 11..<13: try remove()
    case 13..<17: try look()
    default: try changeLimit()
    }
  }

  /// The file is in its place and the record committed, or neither.
  private mutating func take() throws {
    // Now and then one that was taken in before.
    let number = random.chance(0.2) ? UInt64(random.number(1..<6)) : random.next()
    let marker = "\(Person.markerPrefix)\(name)-\(transaction)-\(String(random.next(), radix: 36))"
    let entities = ["Project", "Room", "AtmosphericLog", "MoistureLog"].compactMap { workload.kind($0) }
    guard let (owner, uuid) = try anyone(of: entities[random.number(0..<entities.count)]) else { return }
    let path = folder + "/camera"
    try PhotoContent.bytes(number).write(to: URL(filePath: path))
    let prepared = try vault.prepareAttachment(from: path)
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

  /// A local photo equals the added one. A missing one is requested.
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
      try vault.setPreference(.storageLimit, random.chance(0.7) ? "\(random.number(0..<4_000))KB" : "2GB")
      try vault.evict()
    }
  }

  // MARK: Parts

  private func entry(_ kind: Journal.Kind, _ uuid: String, _ marker: String) -> Journal.Entry {
    Journal.Entry(transaction: transaction, kind: kind, entity: "Photo", uuid: uuid, marker: marker)
  }

  private mutating func anyPhoto() throws -> (entity: String, uuid: UUID)? {
    try workload.kind("Photo").flatMap { try anyone(of: $0) }
  }

  private mutating func anyone(of kind: Kind) throws -> (entity: String, uuid: UUID)? {
    let uuids = try vault.database.read { connection in
      try connection.fetch(
        "SELECT uuid FROM \(identifier: kind.table) WHERE isDeleted = 0 ORDER BY uuid", as: String.self)
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
