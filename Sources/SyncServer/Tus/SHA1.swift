/// SHA-1 (FIPS 180-4), which tus asks of every server. It tells whether bytes arrived as they were sent; nothing relies on
/// it against somebody who wants to deceive.
struct SHA1: Sendable {
  private var words: (UInt32, UInt32, UInt32, UInt32, UInt32) = (
    0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0
  )
  /// What has come and is not a whole block yet.
  private var rest: [UInt8] = []
  private var count: UInt64 = 0

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    count += UInt64(bytes.count)
    var start = 0
    if !rest.isEmpty {
      start = min(64 - rest.count, bytes.count)
      rest += bytes[..<start]
      guard rest.count == 64 else { return }
      let block = rest
      block.withUnsafeBytes { process($0) }
      rest.removeAll(keepingCapacity: true)
    }
    while bytes.count - start >= 64 {
      process(UnsafeRawBufferPointer(rebasing: bytes[start..<start + 64]))
      start += 64
    }
    rest += bytes[start...]
  }

  /// The digest of all that has come.
  mutating func finish() -> [UInt8] {
    let bits = count &* 8
    let zeros = (119 - Int(count % 64)) % 64
    let padding =
      [0x80] + [UInt8](repeating: 0, count: zeros) + (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) }
    padding.withUnsafeBytes { update($0) }
    return [words.0, words.1, words.2, words.3, words.4].flatMap { word in
      (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) }
    }
  }

  private mutating func process(_ block: UnsafeRawBufferPointer) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { schedule in
      for index in 0..<16 {
        schedule[index] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
      }
      for index in 16..<80 {
        let mixed = schedule[index - 3] ^ schedule[index - 8] ^ schedule[index - 14] ^ schedule[index - 16]
        schedule[index] = mixed << 1 | mixed >> 31
      }
      var (a, b, c, d, e) = words
      for index in 0..<80 {
        let (choice, constant): (UInt32, UInt32) =
          switch index {
          case ..<20: ((b & c) | (~b & d), 0x5A82_7999)
          case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
          case ..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
          default: (b ^ c ^ d, 0xCA62_C1D6)
          }
        let next = (a << 5 | a >> 27) &+ choice &+ e &+ constant &+ schedule[index]
        (e, d, c, b, a) = (d, c, b << 30 | b >> 2, a, next)
      }
      words = (words.0 &+ a, words.1 &+ b, words.2 &+ c, words.3 &+ d, words.4 &+ e)
    }
  }
}
