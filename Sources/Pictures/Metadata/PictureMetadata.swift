/// The metadata of a picture.
struct PictureMetadata: Sendable {
  /// The EXIF orientation, 1 to 8; 1 is upright.
  var orientation = 1
  var capturedAt: CaptureTime?
  var hasLocation = false
  /// Whether decoding needs memory for the whole picture at once. This applies to a progressive JPEG and to any
  /// other JPEG whose components are not interleaved.
  var isKeptWhole = false
  /// The number of scans of a JPEG so far. Decoding each scan processes the whole picture.
  var scanCount = 0
  /// The number of segments of a JPEG so far.
  var segmentCount = 0
  /// The number of frames of an animation so far.
  var frameCount = 0
  /// Whether a JPEG violates the format. A decoder might ignore the error.
  var isBroken = false
  /// Whether a JPEG lacks its end. The decoder would fill the missing part with grey.
  var isCutShort = false
}

/// Reads the EXIF block of a picture, which is a small TIFF file. Each system has one implementation.
protocol ExifLibrary {
  /// Adds the values of a block. An unreadable block adds no values.
  static func read(_ block: [UInt8], into metadata: inout PictureMetadata)
}
