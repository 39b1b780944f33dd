/// The directories of an EXIF block (CIPA DC-008, section 4.6.2), parsed only to limit the work of reading the
/// block.
///
/// A reader that follows every pointer takes exponential time when many entries point to the same directories.
struct ExifDirectories {
  /// The maximum number of entries in a block that is read. Cameras write about a hundred.
  static let mostEntries = 2000

  private let block: [UInt8]
  private let isLittle: Bool
  private var open: [(start: Int, isFirst: Bool)] = []
  private var seen: Set<Int> = []
  private var entries = 0

  /// Returns whether each directory of a block is reached once and all directories together have at most
  /// ``mostEntries`` entries.
  /// - Parameter block: the block from its TIFF header on. A block without this header has no directories.
  static func areBounded(in block: [UInt8]) -> Bool {
    guard var directories = ExifDirectories(block) else { return true }
    while let next = directories.open.popLast() {
      guard directories.visit(next.start, isFirst: next.isFirst) else { return false }
    }
    return true
  }

  /// Returns the number of an entry of the main directory; `nil` if the directory has no such entry.
  static func mainValue(of tag: Int, in block: [UInt8]) -> Int? {
    guard let directories = ExifDirectories(block), let start = directories.open.first?.start,
      let count = directories.number(at: start, bytes: 2)
    else { return nil }
    for place in stride(from: start + 2, to: start + 2 + count * 12, by: 12)
    where directories.number(at: place, bytes: 2) == tag {
      // A SHORT (type 3) stands in the first half of the four bytes of the value.
      return directories.number(at: place + 8, bytes: directories.number(at: place + 2, bytes: 2) == 3 ? 2 : 4)
    }
    return nil
  }

  private init?(_ block: [UInt8]) {
    guard block.count >= 8, block[0] == block[1], block[0] == UInt8(ascii: "I") || block[0] == UInt8(ascii: "M") else {
      return nil
    }
    self.block = block
    isLittle = block[0] == UInt8(ascii: "I")
    if let first = number(at: 4, bytes: 4) { open = [(first, true)] }
  }

  private mutating func visit(_ start: Int, isFirst: Bool) -> Bool {
    // The pointer leads beyond the end of the block, where no entries can be read.
    guard let count = number(at: start, bytes: 2) else { return true }
    guard seen.insert(start).inserted else { return false }
    entries += count
    guard entries <= Self.mostEntries else { return false }
    for place in stride(from: start + 2, to: start + 2 + count * 12, by: 12) {
      guard let tag = number(at: place, bytes: 2), let target = number(at: place + 8, bytes: 4) else { return true }
      // The pointers to the directories of the camera, the location and interoperability.
      if [0x8769, 0x8825, 0xa005].contains(tag) { open.append((target, false)) }
    }
    // The directory of the thumbnail. After other directories this value is undefined.
    if isFirst, let next = number(at: start + 2 + count * 12, bytes: 4), next > 0 { open.append((next, false)) }
    return true
  }

  private func number(at place: Int, bytes: Int) -> Int? {
    guard place >= 0, place <= block.count - bytes else { return nil }
    let part = block[place..<place + bytes]
    return isLittle ? part.reversed().reduce(0) { $0 << 8 | Int($1) } : part.reduce(0) { $0 << 8 | Int($1) }
  }
}
