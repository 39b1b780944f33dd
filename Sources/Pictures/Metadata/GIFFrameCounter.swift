/// Counts the frames of a GIF as its bytes arrive (GIF89a, sections 17 to 27).
struct GIFFrameCounter {
  private enum Part { case header, block, image, extensionLabel, subBlock, codeSize, end }

  private var part = Part.header
  private var block: [UInt8] = []
  private var skipped = 0
  private var needed = 13

  /// Reads the next bytes and adds the number of frames that begin in them.
  mutating func take(_ bytes: UnsafeRawBufferPointer, _ frameCount: inout Int) {
    var rest = bytes[...]
    while part != .end, !rest.isEmpty {
      let gap = min(skipped, rest.count)
      skipped -= gap
      rest = rest.dropFirst(gap)
      let taken = rest.prefix(needed - block.count)
      block += taken
      rest = rest.dropFirst(taken.count)
      guard skipped == 0, block.count == needed else { return }
      step(&frameCount)
      block.removeAll(keepingCapacity: true)
    }
  }

  private mutating func step(_ frameCount: inout Int) {
    switch part {
    case .header: expect(.block, 1, after: Self.tableBytes(block[10]))
    case .block:
      switch block[0] {
      case 0x21: expect(.extensionLabel, 1)
      case 0x2c:
        frameCount += 1
        expect(.image, 9)
      default: part = .end
      }
    case .image: expect(.codeSize, 1, after: Self.tableBytes(block[8]))
    case .extensionLabel, .codeSize: expect(.subBlock, 1)
    case .subBlock:
      let count = Int(block[0])
      if count == 0 { expect(.block, 1) } else { expect(.subBlock, 1, after: count) }
    case .end: break
    }
  }

  private mutating func expect(_ part: Part, _ count: Int, after gap: Int = 0) {
    (self.part, needed, skipped) = (part, count, gap)
  }

  /// Returns the size in bytes of the colour table that a packed field declares.
  private static func tableBytes(_ packed: UInt8) -> Int { packed & 0x80 == 0 ? 0 : 3 << (Int(packed & 7) + 1) }
}
