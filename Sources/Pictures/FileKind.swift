/// The type of a file, detected from its first bytes and not from its name.
package struct FileKind: Sendable, Hashable {
  /// The MIME type; `application/octet-stream` for an unknown type.
  package let mimeType: String
  /// The kind of picture; `nil` if the file is not a supported picture.
  let picture: PictureKind?

  /// The number of bytes that the detection needs.
  package static let prefixBytes = 32

  /// Detects the type of a file that begins with these bytes.
  package init(beginning bytes: [UInt8]) {
    for (kind, offset, mark) in Self.marks where bytes.dropFirst(offset).starts(with: mark) {
      if kind.picture == .bmp, !Self.isBitmap(bytes) { continue }
      self = kind
      return
    }
    self = Self.container(bytes) ?? FileKind("application/octet-stream")
  }

  private init(_ mimeType: String, _ picture: PictureKind? = nil) {
    (self.mimeType, self.picture) = (mimeType, picture)
  }

  private static let marks: [(FileKind, Int, [UInt8])] = [
    (FileKind("image/jpeg", .jpeg), 0, [0xff, 0xd8, 0xff]),
    (FileKind("image/png", .png), 0, [0x89] + Array("PNG\r\n".utf8) + [0x1a, 0x0a]),
    (FileKind("image/gif", .gif), 0, Array("GIF87a".utf8)), (FileKind("image/gif", .gif), 0, Array("GIF89a".utf8)),
    (FileKind("image/tiff", .tiff), 0, [0x49, 0x49, 0x2a, 0]),
    (FileKind("image/tiff", .tiff), 0, [0x4d, 0x4d, 0, 0x2a]),
    (FileKind("image/bmp", .bmp), 0, Array("BM".utf8)),
    (FileKind("application/pdf"), 0, Array("%PDF-".utf8)),
    (FileKind("application/zip"), 0, Array("PK".utf8) + [3, 4]),
    (FileKind("application/gzip"), 0, [0x1f, 0x8b, 8]),
    (FileKind("audio/mpeg"), 0, Array("ID3".utf8)),
    (FileKind("audio/ogg"), 0, Array("OggS".utf8)),
    (FileKind("video/webm"), 0, [0x1a, 0x45, 0xdf, 0xa3]),
  ]

  /// Returns whether the second header has a valid length. The two letters `BM` alone are not sufficient evidence.
  private static func isBitmap(_ bytes: [UInt8]) -> Bool {
    bytes.count >= 18 && [12, 40, 52, 56, 64, 108, 124].contains(bytes[14]) && bytes[15...17].allSatisfy { $0 == 0 }
  }

  /// Detects formats in a RIFF container or an ISO media container.
  private static func container(_ bytes: [UInt8]) -> FileKind? {
    func text(_ range: Range<Int>) -> String? {
      range.upperBound <= bytes.count ? String(decoding: bytes[range], as: UTF8.self) : nil
    }
    if text(0..<4) == "RIFF" {
      switch text(8..<12) {
      case "WEBP": return FileKind("image/webp", .webp)
      case "WAVE": return FileKind("audio/wav")
      default: return nil
      }
    }
    guard text(4..<8) == "ftyp", let brand = text(8..<12) else { return nil }
    switch brand {
    case "heic", "heix", "hevc", "hevx", "heim", "heis": return FileKind("image/heic", .heic)
    case "mif1", "msf1": return FileKind("image/heif", .heic)
    case "avif", "avis": return FileKind("image/avif", .avif)
    case "qt  ": return FileKind("video/quicktime")
    case "M4A ": return FileKind("audio/mp4")
    default: return FileKind("video/mp4")
    }
  }
}

/// The kinds of pictures that are inspected. Except for HEIC and AVIF, the raw values are the names of gdk-pixbuf's
/// loaders.
enum PictureKind: String, Sendable {
  case jpeg, png, gif, bmp, tiff, webp, heic, avif
}
