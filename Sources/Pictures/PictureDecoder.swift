/// Decodes one picture incrementally. Each system has one implementation.
protocol PictureDecoder: AnyObject {
  /// Decodes the next bytes of the file.
  /// - Parameter metadata: the metadata found up to the end of these bytes.
  func feed(_ bytes: UnsafeRawBufferPointer, _ metadata: PictureMetadata) throws(PictureProblem)

  /// Finishes decoding and fills in the size, the thumbnail and the recompressed picture.
  func finish(_ metadata: PictureMetadata, into picture: inout Picture) throws(PictureProblem)
}

/// The reason why a picture is stored without a thumbnail.
enum PictureProblem: Error {
  case damaged
  case tooLarge(width: Int, height: Int)
  case tooLong(bytes: Int)
  case tooManyScans
  case tooManySegments
  case tooManyFrames
  case noMemory

  /// The note that is stored with the picture.
  var note: String {
    switch self {
    case .damaged: "the picture is damaged or truncated; it is stored unchanged"
    case .tooLarge(let width, let height):
      "the picture has \(width) by \(height) pixels, too many to decode; it is stored unchanged"
    case .tooLong(let bytes):
      "the picture has more than \(bytes >> 20) MiB, the limit for its type; it is stored unchanged"
    case .tooManyScans:
      "the picture has more than \(DecodingPlan.mostScans) scans, too many to decode; it is stored unchanged"
    case .tooManySegments:
      "the picture has more than \(DecodingPlan.mostSegments) segments, too many to decode; it is stored unchanged"
    case .tooManyFrames:
      "the animation has more than \(DecodingPlan.mostFrames) frames, or too many for its size; it is stored unchanged"
    case .noMemory: "out of memory while decoding the picture; it is stored unchanged"
    }
  }
}

/// The size at which a picture is decoded, after the check that its memory use is acceptable.
struct DecodingPlan {
  let width: Int
  let height: Int

  /// Plans the decoding before any memory is allocated.
  /// - Throws: ``PictureProblem`` `damaged` for an empty size, or `tooLarge`.
  init(
    _ kind: PictureKind, width: Int, height: Int, isKeptWhole: Bool, _ wishes: PictureOptions
  ) throws(PictureProblem) {
    guard width > 0, height > 0 else { throw .damaged }
    let box = max(wishes.thumbnailWidth, wishes.thumbnailHeight, wishes.recompressedSide ?? 0)
    (self.width, self.height) = Self.fit(width, height, into: (box, box))
    // Sizes are at most 2^31, so the product cannot overflow.
    let pixels = width * height
    let needed: Int
    switch kind {
    case .jpeg:
      // The library can scale a JPEG to 1/2, 1/4 or 1/8 while it decodes a few rows at a time. For a progressive or
      // non-interleaved JPEG it holds all coefficients until the end: up to three per pixel, two bytes each.
      let part = [8, 4, 2].first { width / $0 >= self.width && height / $0 >= self.height } ?? 1
      needed = pixels / (part * part) * 3 + (isKeptWhole ? pixels * 6 : 0) + width * 3 * 64
    default:
      needed = pixels * 4
    }
    guard needed <= wishes.decodingBytes, pixels <= Self.mostPixels else {
      throw .tooLarge(width: width, height: height)
    }
  }

  /// Returns the largest size of the same aspect ratio that fits into a box, at least 1 by 1. Never enlarges the
  /// picture.
  static func fit(_ width: Int, _ height: Int, into box: (width: Int, height: Int)) -> (Int, Int) {
    let scale = min(Double(box.width) / Double(width), Double(box.height) / Double(height), 1)
    return (max(1, Int(Double(width) * scale + 0.5)), max(1, Int(Double(height) * scale + 0.5)))
  }

  /// Checks, before the decoder receives the bytes, that the file causes no more work than pictures of cameras and
  /// programs.
  /// - Parameter pixels: the number of pixels; 0 while it is unknown.
  static func checkWork(_ metadata: PictureMetadata, pixels: Int) throws(PictureProblem) {
    if metadata.isBroken { throw .damaged }
    if metadata.scanCount > mostScans { throw .tooManyScans }
    if metadata.segmentCount > mostSegments { throw .tooManySegments }
    if metadata.frameCount > mostFrames || metadata.frameCount * pixels > mostPixels { throw .tooManyFrames }
  }

  /// The greatest number of segments. Cameras write about 20 segments, or about 200 with a depth map. libjpeg in
  /// gdk-pixbuf needs time quadratic in their number.
  static let mostSegments = 1_000

  /// The greatest number of frames. gdk-pixbuf needs time quadratic in the number of frames of a GIF.
  static let mostFrames = 1_000

  /// The greatest number of scans. Cameras and programs write about ten. Decoding a scan takes as long as decoding the
  /// whole picture.
  static let mostScans = 100

  /// The greatest number of pixels. Decoding more pixels would take too long, even if the picture is scaled down
  /// meanwhile.
  private static let mostPixels = 1 << 28

  /// The maximum size in bytes of a file that is collected in memory before it is decoded.
  static let longestCollected = 64 << 20
}
