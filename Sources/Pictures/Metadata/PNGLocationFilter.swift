/// Leaves out of a PNG what can hold a place: EXIF, texts, of which XMP is one, chunks that programs put there for
/// themselves, such as those of C2PA, and what follows the picture's end.
///
/// Kept: what decoding needs, and how the picture is shown (PNG, third edition, sections 11.2 and 11.3).
final class PNGLocationFilter: LocationFilter {
  private static let kept: Set<String> = [
    "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI", "bKGD",
    "hIST", "pHYs", "sPLT", "tIME", "acTL", "fcTL", "fdAT",
  ]

  private var head: [UInt8] = []
  /// How much is to come until the next chunk begins; at first the signature.
  private var left = 8
  private var isKept = true
  private var isEnd = false
  private(set) var isComplete = false

  func take(_ bytes: UnsafeRawBufferPointer, _ output: LocationRemover.Output) throws {
    var rest = bytes[...]
    while !rest.isEmpty, !isComplete {
      if left > 0 {
        let part = rest.prefix(left)
        rest = rest.dropFirst(part.count)
        left -= part.count
        if isKept { try output(UnsafeRawBufferPointer(rebasing: part)) }
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
    // The four bytes of the checksum follow the content.
    left = head[..<4].reduce(0) { $0 << 8 | Int($1) } + 4
    (isKept, isEnd) = (Self.kept.contains(name), name == "IEND")
    if isKept { try head.withUnsafeBytes { try output($0) } }
    head.removeAll(keepingCapacity: true)
  }
}
