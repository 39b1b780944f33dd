import Platform
import Attachments
import CipherSQL
import RecordStore
import VaultStore
import WebPages

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension InspectorPages {
  private static let filesPerPage = 48
  /// The greatest size of a file that is decrypted in memory for a browser.
  private static let fileLimit = 48 << 20

  /// The photos and files as a grid of thumbnails, the newest first, with the state of their transfers.
  func files(_ call: WebCall) throws -> WebPage {
    let kinds = vault.entities.attachments.map(\.entity)
    guard let first = kinds.first else {
      return WebPage("Photos and files", "<p>No entity of this vault has files.</p>")
    }
    let entity =
      try call.query["entity"].map { name in
        guard let kind = kinds.first(where: { $0.type == name }) else { throw Problem.badAddress("entity") }
        return kind
      } ?? first
    var request = RecordPageRequest()
    (request.isDescending, request.limit) = (true, Self.filesPerPage + 1)
    if let after = call.query["after"] {
      guard let uuid = UUID(sqlText: after) else { throw Problem.badAddress("after") }
      request.after = uuid
    }
    let place = entity.shownColumns.firstIndex { $0.name == "uuid" } ?? 0
    var uuids: [UUID] = []
    try vault.database.read { connection in
      try RecordReader(connection).forEach(entity, page: request) { row in
        uuids.append(try row.decode(UUID.self, at: Int32(place)))
      }
    }
    let hasMore = uuids.count > Self.filesPerPage
    let items = try uuids.prefix(Self.filesPerPage).map { try item(try vault.attachment($0), entity) }
    let choices = kinds.map { kind in
      "<li>\(HTML.link(Link("/files").with("entity", kind.type), HTML.value(kind.type)))</li>" as HTML
    }
    var pages: HTML = ""
    if hasMore {
      let last = uuids[Self.filesPerPage - 1].sqlText
      pages = HTML.link(Link("/files").with("entity", entity.type).with("after", last), "Next page")
    }
    let grid: HTML = items.isEmpty ? "<p>No files.</p>" : "<ul class=\"photos\">\(items)</ul>"
    return WebPage(
      "Photos and files",
      "\(kinds.count > 1 ? "<ul>\(choices)</ul>" : "")\(grid)<nav class=\"pages\" aria-label=\"Pages of files\">\(pages)</nav>"
    )
  }

  private func item(_ file: AttachmentRecord, _ entity: Entity) throws -> HTML {
    let name = file.fileName ?? file.uuid
    let picture: HTML =
      file.thumbnail == "here"
      ? "<img src=\"\(Link("/file").with("uuid", file.uuid).with("as", "thumbnail"))\" alt=\"\(name)\" loading=\"lazy\">"
      : "<p class=\"quiet\">no thumbnail here</p>"
    let here =
      switch file.full {
      case "here": "on this device"
      case "evicted": "evicted, on the server"
      case nil: "no content"
      default: "not on this device"
      }
    let upload: HTML = file.full == "absent" ? "" : file.uploadStatus.map { ", upload \($0)" } ?? ""
    let open: HTML =
      file.full == "here" ? " \(HTML.link(Link("/file").with("uuid", file.uuid), "Save the file"))" : ""
    return """
      <li>\(picture)<p>\(HTML.link(Link("/record").with("entity", entity.type).with("uuid", file.uuid), HTML.value(name)))</p>
      <p class="quiet">\(file.byteCount.map { byteText($0) } ?? ""), \(here)\(upload)\(open)</p></li>
      """
  }

  /// The thumbnail or the content of a file, decrypted in memory.
  func file(_ call: WebCall) throws -> WebResponse {
    guard let uuid = UUID(sqlText: try required("uuid", call.query)) else { throw Problem.badAddress("uuid") }
    let isThumbnail = call.query["as"] == "thumbnail"
    let record = try vault.attachment(uuid)
    guard (isThumbnail ? record.thumbnail : record.full) == "here" else {
      throw Problem(
        title: "The file is not on this device", status: 404, text: "A sync fetches files that are requested or wanted."
      )
    }
    let reader = try vault.openAttachment(uuid, isThumbnail ? .thumbnail : .full)
    guard reader.byteCount <= Self.fileLimit else {
      throw Problem(
        title: "The file is too large for this page", status: 413,
        text:
          "The page decrypts files up to \(byteText(Self.fileLimit)) in memory. Export the file with the program."
      )
    }
    let bytes = try reader.read(0..<reader.byteCount)
    // Thumbnails are JPEG files of this program. A file of a user is saved and never shown, because it could be a page with scripts.
    return isThumbnail
      ? .content(type: "image/jpeg", bytes, fileName: nil)
      : .content(type: "application/octet-stream", bytes, fileName: record.fileName ?? record.uuid)
  }
}
