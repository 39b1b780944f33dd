/// What a picture says beside its pixels.
struct PictureMetadata: Sendable {
  /// How it is to be turned, 1 to 8 as EXIF has it; 1 is upright.
  var orientation = 1
  var capturedAt: CaptureTime?
  var hasLocation = false
  /// A JPEG whose decoding takes memory for all of it at once: a progressive one, and any other whose components do not come
  /// together.
  var isKeptWhole = false
  /// How many passes over a JPEG there are, so far. Each is decoded over all of the picture.
  var scanCount = 0
  /// The segments of a JPEG so far.
  var segmentCount = 0
  /// The frames of an animation so far.
  var frameCount = 0
  /// A JPEG that is not understood, though a library might pass over what is wrong.
  var isBroken = false
  /// A JPEG without an end: the library would fill what is missing with grey.
  var isCutShort = false
}

/// Reads the block of EXIF data of a picture, which is a small TIFF file. Each system has one implementation.
protocol ExifLibrary {
  /// Adds what the block says. A block that cannot be read says nothing.
  static func read(_ block: [UInt8], into metadata: inout PictureMetadata)
}
