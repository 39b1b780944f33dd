/// Decodes one picture that is given bit by bit. There is one implementation for each system.
protocol PictureDecoder: AnyObject {
  /// Takes the next bytes of the file.
  /// - Parameter metadata: what was found up to the end of these bytes.
  func feed(_ bytes: UnsafeRawBufferPointer, _ metadata: PictureMetadata) throws(PictureProblem)

  /// Ends the picture and fills in its size, its thumbnail and the smaller picture.
  func finish(_ metadata: PictureMetadata, into picture: inout Picture) throws(PictureProblem)
}

/// Why a picture is kept without being looked into.
enum PictureProblem: Error {
  case damaged
  case tooLarge(width: Int, height: Int)
  case tooLong(bytes: Int)
  case tooManyScans
  case tooManySegments
  case tooManyFrames
  case noMemory

  /// What is said about it.
  var note: String {
    switch self {
    case .damaged: "the picture is damaged or cut short, and is kept as it is"
    case .tooLarge(let width, let height):
      "the picture says that it has \(width) by \(height) pixels, more than is decoded; it is kept as it is"
    case .tooLong(let bytes):
      "the picture has more than \(bytes >> 20) MiB, more than is decoded of its kind; it is kept as it is"
    case .tooManyScans:
      "the picture comes in more than \(DecodingPlan.mostScans) passes, more than are decoded; it is kept as it is"
    case .tooManySegments:
      "the picture has more than \(DecodingPlan.mostSegments) segments, more than are decoded; it is kept as it is"
    case .tooManyFrames:
      "the animation has more than \(DecodingPlan.mostFrames) frames, or too many of its size; it is kept as it is"
    case .noMemory: "there was not enough memory to look into the picture; it is kept as it is"
    }
  }
}

/// How a picture is decoded: how much smaller, and whether at all.
struct DecodingPlan {
  let width: Int
  let height: Int

  /// - Throws: ``PictureProblem`` `tooLarge` before any memory is taken.
  init(
    _ kind: PictureKind, width: Int, height: Int, isKeptWhole: Bool, _ wishes: PictureOptions
  ) throws(PictureProblem) {
    guard width > 0, height > 0 else { throw .damaged }
    let box = max(wishes.thumbnailWidth, wishes.thumbnailHeight, wishes.recompressedSide ?? 0)
    (self.width, self.height) = Self.fit(width, height, into: (box, box))
    // Sizes are at most 2^31, so nothing overflows.
    let pixels = width * height
    let needed: Int
    switch kind {
    case .jpeg:
      // The library decodes a JPEG at a half, a quarter or an eighth, a few rows at a time. Of one whose components do not
      // come together it keeps the numbers until its end, up to three of two bytes for each pixel.
      let part = [8, 4, 2].first { width / $0 >= self.width && height / $0 >= self.height } ?? 1
      needed = pixels / (part * part) * 3 + (isKeptWhole ? pixels * 6 : 0) + width * 3 * 64
    default:
      needed = pixels * 4
    }
    guard needed <= wishes.decodingBytes, pixels <= Self.mostPixels else {
      throw .tooLarge(width: width, height: height)
    }
  }

  /// The largest size of the same shape that fits into a box; never larger than it is, never nothing.
  static func fit(_ width: Int, _ height: Int, into box: (width: Int, height: Int)) -> (Int, Int) {
    let scale = min(Double(box.width) / Double(width), Double(box.height) / Double(height), 1)
    return (max(1, Int(Double(width) * scale + 0.5)), max(1, Int(Double(height) * scale + 0.5)))
  }

  /// Throws when the file takes more work than any camera or program causes, before the decoder sees more of it.
  /// - Parameter pixels: the size of the picture; 0 while it is unknown.
  static func checkWork(_ metadata: PictureMetadata, pixels: Int) throws(PictureProblem) {
    if metadata.isBroken { throw .damaged }
    if metadata.scanCount > mostScans { throw .tooManyScans }
    if metadata.segmentCount > mostSegments { throw .tooManySegments }
    if metadata.frameCount > mostFrames || metadata.frameCount * pixels > mostPixels { throw .tooManyFrames }
  }

  /// Cameras write some 20, those with a depth map some 200. libjpeg through gdk-pixbuf needs quadratic time for them.
  static let mostSegments = 1_000

  /// gdk-pixbuf needs quadratic time for the frames of a GIF.
  static let mostFrames = 1_000

  /// What cameras and programs write has some ten; each takes the time of the whole picture.
  static let mostScans = 100

  /// A picture of more pixels would take a while, however small it is decoded.
  private static let mostPixels = 1 << 28

  /// How long a file may be whose kind is collected in memory before it is decoded.
  static let longestCollected = 64 << 20
}
