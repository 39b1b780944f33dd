/// Splits a stream into blocks of known length, with gaps in between. The bytes may arrive in parts of any size.
struct BlockReader {
  /// The next requested block.
  enum NextBlock {
    /// A block of the given length, after a number of skipped bytes.
    case block(Int, after: Int = 0)
    /// The end. No block follows.
    case nothing
  }

  private var gap: Int
  private var length: Int
  private var block: [UInt8] = []
  private(set) var isOver = false

  init(block length: Int, after gap: Int) { (self.length, self.gap) = (length, gap) }

  /// Reads bytes. Calls `step` with each complete block; its result requests the next block.
  mutating func take(_ bytes: UnsafeRawBufferPointer, _ step: ([UInt8]) -> NextBlock) {
    var rest = bytes[...]
    while !isOver, !rest.isEmpty {
      let skipped = min(gap, rest.count)
      gap -= skipped
      rest = rest.dropFirst(skipped)
      guard gap == 0 else { return }
      let taken = rest.prefix(length - block.count)
      block += taken
      rest = rest.dropFirst(taken.count)
      guard block.count == length else { return }
      let whole = block
      block.removeAll(keepingCapacity: true)
      switch step(whole) {
      case .block(let length, let gap): (self.length, self.gap) = (length, gap)
      case .nothing: isOver = true
      }
    }
  }
}
