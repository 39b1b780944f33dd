#if !Pictures
  /// Reads EXIF without a library: only the orientation, which must survive the removal of a location, and whether
  /// there is a location. The capture time stays unknown.
  enum SystemExif: ExifLibrary {
    static func read(_ block: [UInt8], into metadata: inout PictureMetadata) {
      guard ExifDirectories.areBounded(in: block) else { return }
      if let orientation = ExifDirectories.mainValue(of: 0x112, in: block), (1...8).contains(orientation) {
        metadata.orientation = orientation
      }
      if ExifDirectories.mainValue(of: 0x8825, in: block) != nil { metadata.hasLocation = true }
    }
  }
#endif
