import CipherSQL
import Foundation
import VaultStore

/// Statement 9: a photo is whole wherever it is said to be, or was never acknowledged, and nothing is left over.
struct PhotoCheck {
  let devices: [OpenDevice]
  let server: ServerFiles
  /// Whether a person had their hand in a record: deleted it, brought it back, gave it up, or one that it hangs on.
  let isHandled: (String) -> Bool
  /// The photos that users have added, by UUID.
  let taken: [String: TakenPhoto]

  struct Photo {
    let uuid: String
    let content: String
    let digest: String?
    let presence: String?
    let isAtServer: Bool
    /// Whether the server has its record.
    let isKnown: Bool
    let isDeleted: Bool
  }

  /// The photos that users have added, including unacknowledged ones.
  static func taken(_ devices: [OpenDevice]) throws -> [String: TakenPhoto] {
    var taken: [String: TakenPhoto] = [:]
    for device in devices {
      for entry in try Journal.read(device.journal.path).entries where entry.kind == .photo {
        taken[entry.uuid] = TakenPhoto(entry.marker)
      }
    }
    return taken
  }

  /// - Returns: the number of photos that users have removed everywhere.
  func check() throws -> Int {
    try expectNone("the server has a file that nobody knows", server.orphans)
    try expectNone("the server lacks the file of a content", server.missing)
    let photos = try devices.map { device in try device.read { try Self.photos($0) } }
    var lost: Set<String> = []
    for (device, own) in zip(devices, photos) {
      try device.read { try Self.checkFolder(device, $0) }
      try checkTransfers(device)
      for photo in own where !photo.isDeleted {
        try checkRecord(photo, device)
        if try !isWhole(photo, device, photos) { lost.insert(photo.uuid) }
      }
      let problems = try device.vault.verifyAttachments().problems
      try expectNone("\(device.seat.name): a file is not what it should be", problems.map(\.message))
    }
    return lost.count
  }

  private func expectNone(_ words: String, _ found: [String]) throws {
    guard found.isEmpty else { throw Violation(9, ["\(words):"] + found.prefix(6)) }
  }

  private static func photos(_ connection: Connection) throws -> [Photo] {
    var photos: [Photo] = []
    try connection.forEach(
      """
      SELECT photo.uuid, photo.contentUuid, photo.contentDigest, content.full, coalesce(content.serverHasFull, 0),
        photo.syncVersion > 0, photo.isDeleted
      FROM OfflinePhoto AS photo LEFT JOIN AttachmentContent AS content USING (contentUuid)
      WHERE photo.contentUuid IS NOT NULL
      """
    ) { row in
      photos.append(
        Photo(
          uuid: try row.decode(at: 0), content: try row.decode(at: 1), digest: try row.decode(at: 2),
          presence: try row.decode(at: 3), isAtServer: try row.decode(at: 4), isKnown: try row.decode(at: 5),
          isDeleted: try row.decode(at: 6)))
    }
    return photos
  }

  private func checkRecord(_ photo: Photo, _ device: OpenDevice) throws {
    guard let taken = taken[photo.uuid] else {
      throw Violation(9, "\(device.seat.name) has Photo \(photo.uuid), which nobody has taken")
    }
    guard photo.digest == taken.digest else {
      throw Violation(9, "\(device.seat.name) says that Photo \(photo.uuid) is another than was taken")
    }
    if photo.isAtServer, !server.contents.contains(photo.content) {
      throw Violation(9, "\(device.seat.name) takes Photo \(photo.uuid) to be at the server, and it is not")
    }
    guard photo.presence == "here", device.seat.seen.insert(photo.uuid).inserted, let uuid = UUID(sqlText: photo.uuid)
    else { return }
    // Compares the bytes once. Afterwards the digest suffices.
    let reader = try device.vault.openAttachment(uuid)
    guard try Data(reader.read(0..<reader.byteCount)) == PhotoContent.bytes(taken.number) else {
      throw Violation(9, "\(device.seat.name) has Photo \(photo.uuid), and it is not what was taken")
    }
  }

  /// Whether a photo is where it should be now that everybody had time. False when it is nowhere, which people wanted.
  private func isWhole(_ photo: Photo, _ device: OpenDevice, _ all: [[Photo]]) throws -> Bool {
    let name = device.seat.name
    if photo.presence == "here" {
      if photo.isKnown, !server.contents.contains(photo.content) {
        throw Violation(9, "\(name) has not sent Photo \(photo.uuid)")
      }
      return true
    }
    if server.contents.contains(photo.content) {
      throw Violation(9, "\(name) cannot fetch Photo \(photo.uuid), which is at the server")
    }
    for (other, photos) in zip(devices, all) {
      guard let theirs = photos.first(where: { $0.content == photo.content && $0.presence == "here" }) else { continue }
      // Whose record is deleted there, or does not reach the server, waits with it.
      if theirs.isDeleted || !theirs.isKnown { return true }
      throw Violation(9, "\(other.seat.name) has Photo \(theirs.uuid) and does not send it")
    }
    guard isHandled(photo.uuid) else { throw Violation(9, "\(name): Photo \(photo.uuid) is nowhere any more") }
    return false
  }

  private func checkTransfers(_ device: OpenDevice) throws {
    let failed = try device.read { connection in
      try connection.fetch(
        """
        SELECT transfer.direction || ' of Photo ' || photo.uuid || ': ' || coalesce(transfer.errorMessage, '')
        FROM AttachmentTransfer AS transfer JOIN OfflinePhoto AS photo USING (contentUuid)
        WHERE transfer.status <> 'pending' AND photo.isDeleted = 0
        """, as: String.self)
    }
    try expectNone("\(device.seat.name): a transfer does not succeed", failed)
  }

  /// The folder of an opened vault contains the files that its rows name and partial downloads, and nothing else.
  static func checkFolder(_ device: OpenDevice, _ connection: Connection) throws {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: device.vault.layout.attachments)) ?? []
    let files = Set(names.filter { $0.contains("/") })
    func place(_ content: String, _ suffix: String) -> String { "\(content.suffix(2))/\(content)\(suffix)" }
    var whole: Set<String> = []
    for (content, full, thumbnail) in try connection.fetchRows(
      "SELECT contentUuid, full, thumbnail FROM AttachmentContent", as: String.self, String.self, String.self)
    {
      if full == "here" { whole.insert(place(content, "")) }
      if thumbnail == "here" { whole.insert(place(content, ".thumbnail")) }
    }
    let begun = try connection.fetchRows(
      "SELECT contentUuid, variant FROM AttachmentTransfer WHERE direction = 'download'", as: String.self, String.self
    ).map { place($0.0, $0.1 == "full" ? ".part" : ".thumbnail.part") }
    let left = files.subtracting(whole).subtracting(begun).sorted()
    guard left.isEmpty else { throw Violation(9, ["\(device.seat.name): left over in attachments:"] + left.prefix(6)) }
    let missing = whole.subtracting(files).sorted()
    guard missing.isEmpty else { throw Violation(9, ["\(device.seat.name): not in attachments:"] + missing.prefix(6)) }
  }
}
