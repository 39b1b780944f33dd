/// Leaves out of a JPEG what can hold a place.
///
/// Kept: the headers of JFIF and Adobe, colour profiles, EXIF without its GPS block, what decoding needs, comments. Left
/// out: XMP, IPTC, every other segment of an application, and all that follows the picture's end, where cameras put
/// further pictures and films with metadata of their own.
final class JPEGLocationFilter: LocationFilter {
  private let parser = JPEGParser()

  var isComplete: Bool { parser.hasEnded }

  func take(_ bytes: UnsafeRawBufferPointer, _ output: LocationRemover.Output) throws {
    try parser.take(bytes) { event in
      switch event {
      case .marker(let marker): try [0xff, marker].withUnsafeBytes { try output($0) }
      case .segment(let marker, let content):
        guard let clean = Self.clean(marker, content) else { return }
        let length = clean.count + 2
        try ([0xff, marker, UInt8(length >> 8), UInt8(length & 0xff)] + clean).withUnsafeBytes { try output($0) }
      case .pixels(let bytes): try output(bytes)
      }
    }
  }

  /// What may stay of a segment; nil when it goes.
  private static func clean(_ marker: UInt8, _ content: [UInt8]) -> [UInt8]? {
    switch marker {
    case 0xe1:
      guard content.starts(with: MetadataMark.exif),
        let block = SystemExif.withoutLocation(Array(content.dropFirst(MetadataMark.exif.count)))
      else { return nil }
      let clean = MetadataMark.exif + block
      return clean.count + 2 <= 0xffff ? clean : nil
    case 0xe2: return content.starts(with: Array("ICC_PROFILE".utf8)) ? content : nil
    case 0xe0, 0xee: return content
    case 0xe3...0xef: return nil
    default: return content
    }
  }
}
