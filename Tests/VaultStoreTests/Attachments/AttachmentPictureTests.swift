import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing

@testable import VaultStore

/// The treatment of pictures when they are added.
@Suite struct AttachmentPictureTests {
  private let bench: AttachmentBench
  private var vault: Vault { bench.vault }

  init() throws { bench = try AttachmentBench() }

  static let data = packagePath("Tests/Data/")

  private func attach(_ name: String) throws -> UUID {
    try vault.attach([Self.data + name], to: try vault.entities.entity("AtmosphericLog"), bench.log)[0]
  }

  @Test("A photo gets its metadata and an encrypted thumbnail")
  func aPhotoHasItsFactsAndAThumbnailThatIsEncryptedLikeTheRest() throws {
    let uuid = try attach("rocket.jpg")
    let photo = try vault.attachment(uuid)
    #expect(photo.mimeType == "image/jpeg" && photo.width == 640 && photo.height == 427)
    #expect(photo.full == "here" && photo.thumbnail == "here" && photo.note == nil)
    let thumbnail = try vault.openAttachment(uuid, .thumbnail)
    let bytes = try thumbnail.read(0..<thumbnail.byteCount)
    #expect(bytes.starts(with: [0xff, 0xd8]) && bytes.count < 20_000)
    for file in try bench.files() {
      let stored = try Data(contentsOf: URL(filePath: bench.path + "/" + file))
      #expect(stored.range(of: Data([0xff, 0xd8, 0xff])) == nil || stored.range(of: Data("JFIF".utf8)) == nil)
    }
    #expect(try vault.verifyAttachments().files == 2)
    #expect(try Array(Data(contentsOf: URL(filePath: Self.data + "rocket.jpg"))) == bench.content(uuid))
    // Both are sent, the thumbnail first.
    #expect(
      try vault.database.read {
        try $0.fetch("SELECT variant FROM AttachmentTransfer ORDER BY transferNumber", as: String.self)
      }
        == ["thumbnail", "full"])
  }

  @Test("A recompressed picture is stored in its new size, and other files stay unchanged")
  func aPictureThatIsMadeSmallerIsStoredSo() throws {
    try vault.setPreference(.recompress, "100")
    let uuid = try attach("rocket.jpg")
    let photo = try vault.attachment(uuid)
    #expect(photo.width == 100 && photo.height == 67 && photo.mimeType == "image/jpeg")
    #expect(try bench.content(uuid).count == photo.byteCount.map(Int.init))
    #expect((photo.byteCount ?? 0) < 20_000)
    #expect(try vault.verifyAttachments().problems.isEmpty)
    // A file that is not a picture stays unchanged.
    let other = try bench.attach(bytes: 5000)
    #expect(try bench.content(other).count == 5000)
  }

  @Test("A file that is not a picture is stored unchanged, also when locations are stripped")
  func whatIsNoPictureIsTakenInAsItIsAlsoWithoutItsPlace() throws {
    try vault.setPreference(.stripLocation, "true")
    let uuid = try bench.attach(bytes: 300_000)
    #expect(try Array(Data(contentsOf: URL(filePath: bench.folder.path + "/a.bin"))) == bench.content(uuid))
    #expect(try vault.attachment(uuid).mimeType == "application/octet-stream")
    #expect(try vault.attachment(uuid).thumbnail == "none")
    #expect(try bench.files().count == 1)
  }

  @Test(
    "A file whose location cannot be removed is stored with a note, or refused if the setting requires removal",
    arguments: [
      ("%PDF-1.7 words", "application/pdf"), ("\0\0\0\u{18}ftypisom films", "video/mp4"),
      ("\0\0\0\u{18}ftypheic no picture", "image/heic"), ("words", "application/octet-stream"),
    ])
  func aFileThatCannotBeCleaned(text: String, mimeType: String) throws {
    let path = bench.folder.path + "/file"
    try Data(text.utf8).write(to: URL(filePath: path))
    let project = try vault.entities.entity("Project")
    try vault.setPreference(.stripLocation, "true")
    let stored = try vault.attachment(try vault.attach([path], to: project, bench.project)[0])
    #expect(stored.mimeType == mimeType && stored.note?.contains("cannot be removed from \(mimeType)") == true)
    let files = try bench.files()

    try vault.setPreference(.stripLocation, "require")
    #expect { try vault.attach([path], to: project, bench.project) } throws: {
      ($0 as? VaultError)?.code == .refused
    }
    #expect(try bench.files() == files)
    _ = try vault.attach([Self.data + "rocket.jpg"], to: project, bench.project)
  }

  @Test("A truncated picture is stored unchanged with a note") func aBrokenPictureIsKeptWithANote() throws {
    let path = bench.folder.path + "/broken.jpg"
    try Data(contentsOf: URL(filePath: Self.data + "rocket.jpg")).prefix(300).write(to: URL(filePath: path))
    let uuid = try vault.attach([path], to: try vault.entities.entity("Project"), bench.project)[0]
    let photo = try vault.attachment(uuid)
    #expect(photo.mimeType == "image/jpeg" && photo.note != nil && photo.thumbnail == "none")
    #expect(try bench.content(uuid).count == 300)
    try vault.setPreference(.stripLocation, "true")
    let other = bench.folder.path + "/other.jpg"
    try Data(contentsOf: URL(filePath: Self.data + "rocket.jpg")).prefix(301).write(to: URL(filePath: other))
    let second = try vault.attach([other], to: try vault.entities.entity("Project"), bench.project)[0]
    #expect(try vault.attachment(second).note?.contains("cannot be removed") == true)
    #expect(try bench.content(second).count == 301)
  }
}
