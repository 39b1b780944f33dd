import CipherSQL
import Foundation
import Platform
import SealedFiles
import VaultStore

/// Statement 9: a photo is whole wherever it is said to be, or was never acknowledged, and nothing is left over.
struct PhotoCheck {
  let devices: [any WatchedDevice]
  let server: ServerFiles
  let content: PhotoContent
  /// Whether a person had their hand in a record: deleted it, brought it back, gave it up, or one that it hangs on.
  let isHandled: (String) -> Bool
  /// Contents of which a restore has replaced the last copy.
  var replaced: Set<String> = []
  /// The greatest size of a file that the server accepts, in bytes.
  var limit: Int64?

  private struct Photo {
    let uuid: String
    let content: String
    let digest: String?
    let presence: String?
    let isAtServer: Bool
    /// Whether the server has its record.
    let isKnown: Bool
    let isDeleted: Bool
    let byteCount: Int
  }

  /// The photos that users have added, including unacknowledged ones, by UUID.
  private func taken() throws -> [String: TakenPhoto] {
    var taken: [String: TakenPhoto] = [:]
    for device in devices {
      for entry in try device.entries().entries where entry.kind == .photo {
        taken[entry.uuid] = TakenPhoto(entry.marker)
      }
    }
    return taken
  }

  /// - Returns: the number of photos that users have removed everywhere.
  func check() throws -> Int {
    try server.checkContents()
    let taken = try taken()
    let photos = try devices.map { device in try device.read { try Self.photos($0) } }
    var lost: Set<String> = []
    for (device, own) in zip(devices, photos) {
      try device.read { try Self.checkFolder(device, $0) }
      try checkTransfers(device)
      for photo in own where !photo.isDeleted {
        try checkRecord(photo, taken[photo.uuid], device)
        if try !isWhole(photo, device, photos) { lost.insert(photo.uuid) }
      }
      let problems = try device.vault.verifyAttachments().problems
      try Violation.expectNone("\(device.name): a file is not what it should be", problems.map(\.message))
    }
    return lost.count
  }

  private static func photos(_ connection: Connection) throws -> [Photo] {
    var photos: [Photo] = []
    try connection.forEach(
      """
      SELECT photo.uuid, photo.contentUuid, photo.contentDigest, content.full, coalesce(content.serverHasFull, 0),
        photo.syncVersion > 0, photo.isDeleted, coalesce(content.byteCount, 0)
      FROM OfflinePhoto AS photo LEFT JOIN AttachmentContent AS content USING (contentUuid)
      WHERE photo.contentUuid IS NOT NULL
      """
    ) { row in
      photos.append(
        Photo(
          uuid: try row.decode(at: 0), content: try row.decode(at: 1), digest: try row.decode(at: 2),
          presence: try row.decode(at: 3), isAtServer: try row.decode(at: 4), isKnown: try row.decode(at: 5),
          isDeleted: try row.decode(at: 6), byteCount: try row.decode(at: 7)))
    }
    return photos
  }

  private func checkRecord(_ photo: Photo, _ taken: TakenPhoto?, _ device: any WatchedDevice) throws {
    guard let taken else {
      throw Violation(9, "\(device.name) has Photo \(photo.uuid), which nobody has taken")
    }
    guard photo.digest == taken.digest else {
      throw Violation(9, "\(device.name) says that Photo \(photo.uuid) is another than was taken")
    }
    if photo.isAtServer, !server.contents.contains(photo.content), !replaced.contains(photo.content) {
      throw Violation(9, "\(device.name) takes Photo \(photo.uuid) to be at the server, and it is not")
    }
    guard photo.presence == "here", device.mustCompare(photo.uuid), let uuid = UUID(sqlText: photo.uuid) else { return }
    // Compares the bytes once. Afterwards the digest suffices.
    let reader = try device.vault.openAttachment(uuid)
    guard try reader.read(0..<reader.byteCount) == content.bytes(taken.number) else {
      throw Violation(9, "\(device.name) has Photo \(photo.uuid), and it is not what was taken")
    }
  }

  /// Whether a photo is where it should be now that everybody had time. False when it is nowhere, which people wanted.
  private func isWhole(_ photo: Photo, _ device: any WatchedDevice, _ all: [[Photo]]) throws -> Bool {
    let name = device.name
    if photo.presence == "here" {
      if photo.isKnown, !server.contents.contains(photo.content), !isTooLarge(photo) {
        throw Violation(9, "\(name) has not sent Photo \(photo.uuid)")
      }
      return true
    }
    if server.contents.contains(photo.content) {
      // Without the record, the server may have other bytes under the name.
      guard photo.isKnown else { return true }
      throw Violation(9, "\(name) cannot fetch Photo \(photo.uuid), which is at the server")
    }
    for (other, photos) in zip(devices, all) {
      guard let theirs = photos.first(where: { $0.content == photo.content && $0.presence == "here" }) else { continue }
      // Whose record is deleted there, or does not reach the server, waits with it.
      if theirs.isDeleted || !theirs.isKnown || isTooLarge(theirs) { return true }
      throw Violation(9, "\(other.name) has Photo \(theirs.uuid) and does not send it")
    }
    guard isHandled(photo.uuid) || replaced.contains(photo.content) else {
      throw Violation(9, "\(name): Photo \(photo.uuid) is nowhere any more")
    }
    return false
  }

  /// Whether the server may refuse a file for its size.
  private func isTooLarge(_ photo: Photo) -> Bool {
    limit.map { Int64(SealedFileFormat.sealedSize(ofPlain: photo.byteCount)) > $0 } ?? false
  }

  private func checkTransfers(_ device: any WatchedDevice) throws {
    let failed = try device.read { connection in
      try connection.fetchRows(
        """
        SELECT transfer.direction || ' of Photo ' || photo.uuid || ': ' || coalesce(transfer.errorMessage, ''),
          coalesce(content.byteCount, 0)
        FROM AttachmentTransfer AS transfer JOIN AttachmentContent AS content USING (contentUuid)
        JOIN OfflinePhoto AS photo USING (contentUuid)
        WHERE transfer.status <> 'pending' AND photo.isDeleted = 0
        """, as: String.self, Int.self)
    }
    let others = failed.filter { row in
      limit.map { Int64(SealedFileFormat.sealedSize(ofPlain: row.1)) <= $0 } ?? true
    }
    try Violation.expectNone("\(device.name): a transfer does not succeed", others.map(\.0))
    let done = try device.read { connection in
      try connection.fetch(
        """
        SELECT transfer.direction || ' ' || transfer.variant || ' ' || contentUuid
        FROM AttachmentTransfer AS transfer JOIN AttachmentContent AS content USING (contentUuid)
        WHERE CASE transfer.direction || transfer.variant WHEN 'downloadfull' THEN content.full = 'here'
          WHEN 'downloadthumbnail' THEN content.thumbnail = 'here' WHEN 'uploadfull' THEN content.serverHasFull
          ELSE content.serverHasThumbnail END
        """, as: String.self)
    }
    try Violation.expectNone("\(device.name): a transfer waits for nothing", done)
  }

  /// The folder of an opened vault contains the files that its rows name and partial downloads, and nothing else.
  static func checkFolder(_ device: any WatchedDevice, _ connection: Connection) throws {
    let files = try FolderFiles.names(in: device.vault.layout.attachments)
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
    try Violation.expectNone(
      "\(device.name): left over in attachments", files.subtracting(whole).subtracting(begun).sorted())
    try Violation.expectNone("\(device.name): not in attachments", whole.subtracting(files).sorted())
  }
}

/// The files in the folders of a folder.
enum FolderFiles {
  /// Returns `FOLDER/FILE` for each file; nothing if the folder does not exist.
  static func names(in path: String) throws -> Set<String> {
    guard Files.isFolder(path) else { return [] }
    var names: Set<String> = []
    for folder in try Files.names(in: path) where Files.isFolder(path + "/" + folder) {
      for file in try Files.names(in: path + "/" + folder) { names.insert(folder + "/" + file) }
    }
    return names
  }
}

extension Violation {
  /// Throws a violation of statement 9 that names the first of some things that should not be.
  static func expectNone(_ words: String, _ found: [String]) throws {
    guard found.isEmpty else { throw Violation(9, ["\(words):"] + found.prefix(6)) }
  }
}
