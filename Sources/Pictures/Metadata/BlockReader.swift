/// Cuts a stream into blocks of known length and gaps between them, however the bytes come.
struct BlockReader {
  /// What is wanted next.
  enum NextBlock {
    /// A block of so many bytes, after so many that nobody looks at.
    case block(Int, after: Int = 0)
    /// Nothing more.
    case nothing
  }

  private var gap: Int
  private var length: Int
  private var block: [UInt8] = []
  private(set) var isOver = false

  init(block length: Int, after gap: Int) { (self.length, self.gap) = (length, gap) }

  /// Takes bytes; `step` is called with each whole block and says what is wanted after it.
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
