/// The first four bytes of a segment of a JPEG that stands before the pixels.
struct JPEGSegment {
  let marker: UInt8
  /// How many bytes follow in the segment.
  let count: Int

  /// Nil at the pixels, at the end, and where no segment can be.
  init?(_ head: [UInt8]) {
    let length = Int(head[2]) << 8 | Int(head[3])
    guard head[0] == 0xff, length >= 2, (0xc0...0xfe).contains(head[1]), !(0xd0...0xda).contains(head[1]) else {
      return nil
    }
    (marker, count) = (head[1], length - 2)
  }

  var isProgressiveFrame: Bool { [0xc2, 0xc6, 0xca, 0xce].contains(marker) }
}
