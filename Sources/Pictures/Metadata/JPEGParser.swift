/// Splits a JPEG into markers, segments and pixel data while it is read. The bytes may arrive in parts of any size.
final class JPEGParser {
  /// A part of the file, in file order.
  enum Event {
    /// A marker without a length.
    case marker(UInt8)
    /// A marker and the content of its segment, without the two bytes of the length.
    case segment(UInt8, [UInt8])
    /// The next bytes of pixel data between two markers.
    case pixels(UnsafeRawBufferPointer)
  }

  private enum Part {
    case marker
    case length(marker: UInt8)
    case segment(marker: UInt8, count: Int)
    case pixels
    case end
    case broken
  }

  private typealias Bytes = Slice<UnsafeRawBufferPointer>

  private var part = Part.marker
  private var kept: [UInt8] = []
  private var holdsMark = false

  /// Whether the end of the picture was read. All further bytes are ignored.
  var hasEnded: Bool { if case .end = part { true } else { false } }

  /// Whether other bytes were found where a marker is required.
  var isBroken: Bool { if case .broken = part { true } else { false } }

  /// Reads the next bytes and calls `body` with each part of the file.
  func take(_ bytes: UnsafeRawBufferPointer, _ body: (Event) throws -> Void) rethrows {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch part {
      case .marker:
        if let bytes = collect(&rest, 2), let marker = marker(bytes) { try body(.marker(marker)) }
      case .length(let marker):
        guard let bytes = collect(&rest, 2) else { return }
        let count = Int(bytes[0]) << 8 | Int(bytes[1]) - 2
        part = count < 0 ? .broken : .segment(marker: marker, count: count)
        if count == 0 { try end(marker, [], body) }
      case .segment(let marker, let count):
        if let content = collect(&rest, count) { try end(marker, content, body) }
      case .pixels: try pixels(&rest, body)
      case .end, .broken: return
      }
    }
  }

  /// Collects the given number of bytes. Returns `nil` until all of them have arrived.
  private func collect(_ rest: inout Bytes, _ count: Int) -> [UInt8]? {
    let taken = rest.prefix(count - kept.count)
    kept += taken
    rest = rest.dropFirst(taken.count)
    guard kept.count == count else { return nil }
    defer { kept.removeAll(keepingCapacity: true) }
    return kept
  }

  /// Starts the part that two bytes begin. Returns the marker if it has no segment.
  private func marker(_ bytes: [UInt8]) -> UInt8? {
    switch (bytes[0], bytes[1]) {
    // The first byte is padding; the marker begins with the second one.
    case (0xff, 0xff): kept = [0xff]
    case (0xff, 0xd9):
      part = .end
      return 0xd9
    case (0xff, 0x01), (0xff, 0xd0...0xd8): return bytes[1]
    case (0xff, 0xc0...0xfe): part = .length(marker: bytes[1])
    default: part = .broken
    }
    return nil
  }

  private func end(_ marker: UInt8, _ content: [UInt8], _ body: (Event) throws -> Void) rethrows {
    part = marker == 0xda ? .pixels : .marker
    try body(.segment(marker, content))
  }

  /// Passes on pixel data up to the next marker. A trailing FF may begin a marker, so it is held back.
  private func pixels(_ rest: inout Bytes, _ body: (Event) throws -> Void) rethrows {
    if holdsMark {
      holdsMark = false
      if Self.isMarker(rest[rest.startIndex]) { return beginMarker() }
      try [UInt8](repeating: 0xff, count: 1).withUnsafeBytes { try body(.pixels($0)) }
    }
    let start = rest.startIndex
    while let mark = rest.firstIndex(of: 0xff) {
      rest = rest[(mark + 1)...]
      holdsMark = rest.isEmpty
      guard holdsMark || Self.isMarker(rest[mark + 1]) else { continue }
      try body(.pixels(UnsafeRawBufferPointer(rebasing: rest.base[start..<mark])))
      if !holdsMark { beginMarker() }
      return
    }
    try body(.pixels(UnsafeRawBufferPointer(rebasing: rest.base[start...])))
    rest = rest[rest.endIndex...]
  }

  private func beginMarker() { (kept, part) = ([0xff], .marker) }

  /// Returns whether FF followed by this byte is a marker outside the pixel data.
  private static func isMarker(_ byte: UInt8) -> Bool { byte != 0 && byte != 0xff && !(0xd0...0xd7).contains(byte) }
}
