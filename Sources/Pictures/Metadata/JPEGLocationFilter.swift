/// Copies the parts of a JPEG that decoding needs, and its colour profile, orientation and capture time.
///
/// The filter is an allow list and omits every other segment, including comments and the thumbnails inside JFIF and
/// EXIF. It also omits all bytes after the end of the picture, where cameras store further pictures and films with
/// their own metadata.
final class JPEGLocationFilter: LocationFilter {
  private let parser = JPEGParser()
  private var hasExif = false

  var isComplete: Bool { parser.hasEnded }

  func take(_ bytes: UnsafeRawBufferPointer, _ output: LocationRemover.Output) throws {
    try parser.take(bytes) { event in
      switch event {
      case .marker(let marker): try [0xff, marker].withUnsafeBytes { try output($0) }
      case .segment(let marker, let content):
        guard let clean = clean(marker, content) else { return }
        let length = clean.count + 2
        try ([0xff, marker, UInt8(length >> 8), UInt8(length & 0xff)] + clean).withUnsafeBytes { try output($0) }
      case .pixels(let bytes): try output(bytes)
      }
    }
  }

  /// Returns the bytes of a segment to keep, or `nil` to omit the segment.
  private func clean(_ marker: UInt8, _ content: [UInt8]) -> [UInt8]? {
    switch marker {
    // The JFIF header: version, density, and a thumbnail, whose size is set to 0 by 0.
    case 0xe0: content.starts(with: Self.jfif) && content.count >= 14 ? Array(content[..<12]) + [0, 0] : nil
    case 0xe1: exif(content)
    case 0xe2: content.starts(with: Self.profile) ? content : nil
    // The colour transform, which decoding needs: version, two flags, transform.
    case 0xee: content.starts(with: Self.adobe) && content.count >= 12 ? Array(content[..<12]) : nil
    // Frames, scans and tables (ITU-T T.81, table B.1).
    case 0xc0...0xc7, 0xc9...0xcf, 0xda...0xdf: content
    default: nil
    }
  }

  /// Returns the reduced EXIF block of the first EXIF segment, and `nil` for every other segment.
  private func exif(_ content: [UInt8]) -> [UInt8]? {
    guard !hasExif, content.starts(with: MetadataSignature.exif) else { return nil }
    hasExif = true
    var metadata = PictureMetadata()
    SystemExif.read(Array(content.dropFirst(MetadataSignature.exif.count)), into: &metadata)
    return ExifBlock.block(metadata).map { MetadataSignature.exif + $0 }
  }

  private static let jfif = Array("JFIF".utf8) + [0]
  private static let profile = Array("ICC_PROFILE".utf8) + [0]
  private static let adobe = Array("Adobe".utf8)
}
