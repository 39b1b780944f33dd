import CSodium

/// Where random bytes come from. Everything but a test uses ``system``.
public struct Randomness: Sendable {
  let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

  /// A source of one's own, for tests and test vectors: `fill` writes every byte of the buffer.
  public init(_ fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) {
    self.fill = fill
  }

  /// The generator of the operating system, through libsodium.
  public static let system = Randomness { bytes in
    guard Sodium.isReady, let start = bytes.baseAddress else { return }
    randombytes_buf(start, bytes.count)
  }

  /// Bytes that are no secret: salts, nonces, ids.
  func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { fill($0) }
    return bytes
  }
}
