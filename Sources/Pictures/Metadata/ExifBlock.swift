/// Writes the EXIF block of a picture whose location was removed. It contains only the orientation and the capture
/// time.
///
/// The block is created from the parsed values, so that no other tag, thumbnail or maker note of the camera is
/// copied (EXIF 2.32, section 4.6; TIFF 6.0, section 2).
enum ExifBlock {
  private struct Entry {
    let tag: Int
    let type: Int
    let count: Int
    let value: [UInt8]

    static func text(_ tag: Int, _ text: String) -> Entry {
      Entry(tag: tag, type: 2, count: text.utf8.count + 1, value: Array(text.utf8) + [0])
    }
  }

  /// Returns the TIFF structure without the signature `Exif`, or `nil` when the picture is upright and has no
  /// capture time.
  static func block(_ metadata: PictureMetadata) -> [UInt8]? {
    guard metadata.orientation != 1 || metadata.capturedAt != nil else { return nil }
    var main = [Entry(tag: 0x112, type: 3, count: 1, value: little(metadata.orientation, 2))]
    var camera: [UInt8] = []
    if let time = metadata.capturedAt {
      let start = 8 + directoryBytes(entries: 2)
      main.append(Entry(tag: 0x8769, type: 4, count: 1, value: little(start, 4)))
      var entries = [Entry.text(0x9003, time.exifText)]
      if let offset = time.exifOffset { entries.append(.text(0x9011, offset)) }
      entries.append(.text(0x9291, time.exifFraction))
      camera = directory(entries, at: start)
    }
    return [0x49, 0x49, 0x2a, 0] + little(8, 4) + directory(main, at: 8) + camera
  }

  private static func directoryBytes(entries: Int) -> Int { 2 + 12 * entries + 4 }

  private static func directory(_ entries: [Entry], at start: Int) -> [UInt8] {
    var bytes = little(entries.count, 2)
    var values: [UInt8] = []
    let end = start + directoryBytes(entries: entries.count)
    for entry in entries {
      bytes += little(entry.tag, 2) + little(entry.type, 2) + little(entry.count, 4)
      if entry.value.count <= 4 {
        bytes += entry.value + [UInt8](repeating: 0, count: 4 - entry.value.count)
      } else {
        bytes += little(end + values.count, 4)
        values += entry.value + [UInt8](repeating: 0, count: entry.value.count & 1)
      }
    }
    return bytes + little(0, 4) + values
  }

  private static func little(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
