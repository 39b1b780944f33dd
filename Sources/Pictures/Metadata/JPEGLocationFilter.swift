/// Leaves out of a JPEG what can hold a place.
///
/// Kept: the headers of JFIF and Adobe, colour profiles, EXIF without its GPS block, what decoding needs, comments. Left
/// out: XMP, IPTC, every other segment of an application, and all that follows the picture's end, where cameras put
/// further pictures and films with metadata of their own.
final class JPEGLocationFilter: LocationFilter {
  private enum Part {
    /// Two bytes of a marker, or of what should be one.
    case marker
    /// The two bytes of its length.
    case length(marker: UInt8)
    case segment(marker: UInt8, count: Int)
    case pixels
    case end
    case broken
  }

  private var part = Part.marker
  private var kept: [UInt8] = []
  private var holdsMark = false

  func take(_ bytes: UnsafeRawBufferPointer, _ output: LocationRemover.Output) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch part {
      case .marker: try collect(&rest, 2) { try marker($0, output) }
      case .length(let marker):
        try collect(&rest, 2) { length in
          let count = Int(length[0]) << 8 | Int(length[1])
          part = count < 2 ? .broken : .segment(marker: marker, count: count - 2)
          if count == 2 { try segment(marker, [], output) }
        }
      case .segment(let marker, let count): try collect(&rest, count) { try segment(marker, $0, output) }
      case .pixels: try pixels(&rest, output)
      case .end, .broken: return
      }
    }
  }

  var isComplete: Bool {
    if case .end = part { true } else { false }
  }

  /// Collects so many bytes; `body` gets them when they are there.
  private func collect(
    _ rest: inout Slice<UnsafeRawBufferPointer>, _ count: Int, _ body: ([UInt8]) throws -> Void
  ) throws {
    let taken = rest.prefix(count - kept.count)
    kept += taken
    rest = rest.dropFirst(taken.count)
    guard kept.count == count else { return }
    let whole = kept
    kept.removeAll(keepingCapacity: true)
    try body(whole)
  }

  private func marker(_ bytes: [UInt8], _ output: LocationRemover.Output) throws {
    guard bytes[0] == 0xff else { return part = .broken }
    switch bytes[1] {
    case 0xd8, 0xd0...0xd7, 0x01: try give(bytes, output)
    case 0xd9:
      part = .end
      try give(bytes, output)
    // A filling byte; the marker begins with the second one.
    case 0xff: kept = [0xff]
    default: part = .length(marker: bytes[1])
    }
  }

  private func segment(_ marker: UInt8, _ content: [UInt8], _ output: LocationRemover.Output) throws {
    part = marker == 0xda ? .pixels : .marker
    guard let clean = Self.clean(marker, content) else { return }
    let length = clean.count + 2
    try give([0xff, marker, UInt8(length >> 8), UInt8(length & 0xff)] + clean, output)
  }

  /// What may stay of a segment; nil when it goes.
  private static func clean(_ marker: UInt8, _ content: [UInt8]) -> [UInt8]? {
    switch marker {
    case 0xe1:
      guard content.starts(with: MetadataMark.exif),
        let block = SystemExif.withoutLocation(Array(content.dropFirst(MetadataMark.exif.count)))
      else { return nil }
      let clean = MetadataMark.exif + block
      return clean.count + 2 <= 0xffff ? clean : nil
    case 0xe2: return content.starts(with: Array("ICC_PROFILE".utf8)) ? content : nil
    case 0xe0, 0xee: return content
    case 0xe3...0xef: return nil
    default: return content
    }
  }

  /// Gives on pixels up to the next marker. An FF at the end of what came may be the beginning of one, and waits.
  private func pixels(_ rest: inout Slice<UnsafeRawBufferPointer>, _ output: LocationRemover.Output) throws {
    if holdsMark {
      holdsMark = false
      if Self.isMarker(rest[rest.startIndex]) { return beginMarker() }
      try give([0xff], output)
    }
    var index = rest.startIndex
    while let mark = rest[index...].firstIndex(of: 0xff) {
      index = mark + 1
      holdsMark = index == rest.endIndex
      guard holdsMark || Self.isMarker(rest[index]) else { continue }
      try output(UnsafeRawBufferPointer(rebasing: rest[..<mark]))
      rest = rest[index...]
      if !holdsMark { beginMarker() }
      return
    }
    try output(UnsafeRawBufferPointer(rebasing: rest))
    rest = rest[rest.endIndex...]
  }

  private func beginMarker() { (kept, part) = ([0xff], .marker) }

  /// Whether an FF before this byte begins a marker that is no part of the pixels.
  private static func isMarker(_ byte: UInt8) -> Bool { byte != 0 && byte != 0xff && !(0xd0...0xd7).contains(byte) }

  private func give(_ bytes: [UInt8], _ output: LocationRemover.Output) throws {
    try bytes.withUnsafeBytes { try output($0) }
  }
}
