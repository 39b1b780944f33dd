/// Copies the chunks of a PNG that decoding needs, and its colour profile, orientation and capture time.
///
/// The filter is an allow list (PNG, third edition, sections 11.2 and 11.3). A chunk is copied only if its name is
/// listed and its length is valid, so that a chunk with a known name cannot carry other data. Text, chunks of other
/// programs and all bytes after the end of the picture are omitted.
final class PNGLocationFilter: LocationFilter {
  private static let kept: [String: ClosedRange<Int>] = [
    "IHDR": 13...13, "PLTE": 3...768, "IDAT": 0...Int(Int32.max), "IEND": 0...0, "tRNS": 1...256, "cHRM": 32...32,
    "gAMA": 4...4, "iCCP": 1...Int(Int32.max), "sBIT": 1...4, "sRGB": 1...1, "cICP": 4...4, "mDCV": 24...24,
    "cLLI": 8...8, "bKGD": 1...6, "pHYs": 9...9, "acTL": 8...8, "fcTL": 26...26, "fdAT": 4...Int(Int32.max),
  ]
  /// The maximum length of an EXIF block that is read; a JPEG cannot contain a longer block.
  private static let longestExif = 1 << 16

  private enum ChunkAction { case kept, leftOut, exif }

  private var head: [UInt8] = []
  private var exif: [UInt8] = []
  /// The remaining bytes before the next chunk; initially the length of the PNG signature.
  private var left = 8
  private var fate = ChunkAction.kept
  private var isEnd = false
  private(set) var isComplete = false

  func take(_ bytes: UnsafeRawBufferPointer, _ output: LocationRemover.Output) throws {
    var rest = bytes[...]
    while !rest.isEmpty, !isComplete {
      if left > 0 {
        let part = rest.prefix(left)
        rest = rest.dropFirst(part.count)
        left -= part.count
        switch fate {
        case .kept: try output(UnsafeRawBufferPointer(rebasing: part))
        case .leftOut: break
        case .exif:
          exif += part
          if left == 0 { try writeExif(output) }
        }
        isComplete = isEnd && left == 0
        continue
      }
      let taken = rest.prefix(8 - head.count)
      head += taken
      rest = rest.dropFirst(taken.count)
      if head.count == 8 { try beginChunk(output) }
    }
  }

  private func beginChunk(_ output: LocationRemover.Output) throws {
    let name = String(decoding: head[4...], as: UTF8.self)
    let length = head[..<4].reduce(0) { $0 << 8 | Int($1) }
    // The content is followed by the four bytes of the checksum.
    left = length + 4
    // An end chunk with content is omitted, so the picture counts as incomplete.
    isEnd = name == "IEND" && length == 0
    if Self.kept[name]?.contains(length) == true {
      fate = .kept
      try head.withUnsafeBytes { try output($0) }
    } else {
      fate = name == "eXIf" && length <= Self.longestExif ? .exif : .leftOut
    }
    head.removeAll(keepingCapacity: true)
  }

  private func writeExif(_ output: LocationRemover.Output) throws {
    var metadata = PictureMetadata()
    SystemExif.read(exif.dropLast(4), into: &metadata)
    exif = []
    guard let block = ExifBlock.block(metadata) else { return }
    let body = Array("eXIf".utf8) + block
    try (Self.big(block.count) + body + Self.big(Int(Self.checksum(body)))).withUnsafeBytes { try output($0) }
  }

  private static func big(_ number: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// Returns the CRC-32 of PNG (section 5.3). This simple implementation is only used for blocks of about 100
  /// bytes.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var sum: UInt32 = 0xffff_ffff
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xedb8_8320 : sum >> 1 }
    }
    return ~sum
  }
}
