import CPlatform

/// A source of random bytes: keys, salts, nonces, UUIDs and jitter.
///
/// Programs use ``system``. Tests, the simulator and test vectors inject a source of their own.
public struct RandomSource: Sendable {
  /// Writes every byte of a buffer.
  public let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

  /// Creates a source from a closure that writes every byte of the buffer.
  public init(_ fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) { self.fill = fill }

  /// The cryptographic generator of the operating system. It writes straight into the buffer, so that no copy of a key
  /// remains elsewhere.
  public static let system = RandomSource { buffer in
    let isFilled = buffer.baseAddress.map { cplatform_random($0, buffer.count) == 0 } ?? true
    // The system fails only on kernels without the generator. A program must not go on with predictable keys.
    precondition(isFilled, "the system has no random generator")
  }

  /// Returns bytes that are no secret, such as salts, nonces and identifiers.
  package func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[0..<count]))
      initializedCount = count
    }
  }

  /// Returns a number of 64 random bits.
  package func number() -> UInt64 {
    var number: UInt64 = 0
    withUnsafeMutableBytes(of: &number) { fill($0) }
    return number
  }

  /// Returns a number from 0 up to, but not including, 1.
  package func fraction() -> Double { Double(number() >> 11) * 0x1p-53 }
}
