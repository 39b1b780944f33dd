import FuzzSupport

@testable import Pictures

/// The readers of pictures give the same result however the bytes arrive, and a picture that was cleaned says nothing of a place.
/// The first byte is the size of the parts.
@main
enum FuzzPictures: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let file = Array(bytes.dropFirst())
    let part = Int(first) + 1
    let whole = clean(file, part: max(file.count, 1))
    let parts = clean(file, part: part)
    require(whole.outcome == parts.outcome && whole.bytes == parts.bytes, "cleaning does not depend on the parts")
    require(whole.bytes.count <= file.count + 256, "a cleaned picture is no longer, apart from a new block of metadata")
    if whole.outcome == .clean {
      let again = clean(whole.bytes, part: part)
      require(again.outcome == .clean && again.bytes == whole.bytes, "cleaning a second time changes nothing")
      require(scan(whole.bytes, part: part)?.hasLocation != true, "a cleaned picture has no place")
    }
    if let found = scan(file, part: max(file.count, 1)), let again = scan(file, part: part) {
      require(said(found) == said(again), "what is found does not depend on the parts")
      // Each takes at least its marker.
      require(found.segmentCount + found.frameCount <= file.count, "the counts are bounded")
      require((1...8).contains(found.orientation), "orientation \(found.orientation)")
    }
  }

  private static func clean(_ file: [UInt8], part: Int) -> (bytes: [UInt8], outcome: LocationOutcome) {
    let remover = LocationRemover()
    var output: [UInt8] = []
    do {
      try forEachPart(file, part) { bytes in try remover.take(bytes) { output += $0 } }
      // The end may give bytes too.
      let outcome = try remover.finish { output += $0 }
      return (output, outcome)
    } catch {
      fatalError("cleaning throws only what its output throws: \(error)")
    }
  }

  /// What the scanner finds; nil for a file that is no picture.
  private static func scan(_ file: [UInt8], part: Int) -> PictureMetadata? {
    guard let kind = FileKind(beginning: Array(file.prefix(FileKind.prefixBytes))).picture else { return nil }
    let scanner = MetadataScanner(kind)
    forEachPart(file, part, scanner.take)
    return scanner.metadata
  }

  private static func said(_ metadata: PictureMetadata) -> String { "\(metadata)" }

  private static func forEachPart(
    _ file: [UInt8], _ size: Int, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    try file.withUnsafeBytes { bytes in
      for start in stride(from: 0, to: bytes.count, by: size) {
        try body(UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + size, bytes.count)]))
      }
    }
  }
}
