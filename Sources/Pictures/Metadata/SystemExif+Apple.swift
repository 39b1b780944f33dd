#if canImport(ImageIO) && Pictures
  import Foundation
  import ImageIO

  /// Reads EXIF with ImageIO, which parses the block as the header of a picture without pixels.
  enum SystemExif: ExifLibrary {
    static func read(_ block: [UInt8], into metadata: inout PictureMetadata) {
      if let properties = properties(of: block) { read(properties, into: &metadata) }
    }

    /// Adds the properties that ImageIO found in a picture.
    static func read(_ properties: [CFString: Any], into metadata: inout PictureMetadata) {
      if let orientation = properties[kCGImagePropertyOrientation] as? Int, (1...8).contains(orientation) {
        metadata.orientation = orientation
      }
      if properties[kCGImagePropertyGPSDictionary] != nil { metadata.hasLocation = true }
      guard let exif = properties[kCGImagePropertyExifDictionary] as? [CFString: Any],
        let time = exif[kCGImagePropertyExifDateTimeOriginal] as? String
      else { return }
      metadata.capturedAt = CaptureTime(
        exif: time, fraction: exif[kCGImagePropertyExifSubsecTimeOriginal] as? String,
        offset: exif[kCGImagePropertyExifOffsetTimeOriginal] as? String)
    }

    private static func properties(of block: [UInt8]) -> [CFString: Any]? {
      let length = MetadataSignature.exif.count + block.count + 2
      guard length <= 0xffff else { return nil }
      let head = [0xff, 0xd8, 0xff, 0xe1, UInt8(length >> 8), UInt8(length & 0xff)] + MetadataSignature.exif + block
      // A frame of one black pixel completes the picture: its size, then the end marker in place of pixel data.
      let frame: [UInt8] = [0xff, 0xc0, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0, 0xff, 0xd9]
      let source = CGImageSourceCreateIncremental(nil)
      CGImageSourceUpdateData(source, Data(head + frame) as CFData, true)
      return CGImageSourceCopyPropertiesAtIndex(source, 0, nil) as? [CFString: Any]
    }
  }
#endif
