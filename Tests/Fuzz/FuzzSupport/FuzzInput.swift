/// The bytes of an input, taken from front to back. At the end every number is 0.
public struct FuzzInput {
  private var left: ArraySlice<UInt8>

  /// All bytes of an input.
  public init(_ bytes: [UInt8]) { left = bytes[...] }

  /// Whether nothing is left.
  public var isEmpty: Bool { left.isEmpty }

  /// The next byte.
  public mutating func byte() -> UInt8 { left.popFirst() ?? 0 }

  /// The next bytes as a number, the lowest first.
  public mutating func number(bytes count: Int) -> Int {
    var number: UInt64 = 0
    for index in 0..<count { number |= UInt64(byte()) << (index * 8) }
    return Int(truncatingIfNeeded: number)
  }

  /// The next bytes, as many as there are.
  public mutating func bytes(_ count: Int) -> [UInt8] {
    let taken = left.prefix(count)
    left = left.dropFirst(taken.count)
    return Array(taken)
  }

  /// Everything that is left.
  public mutating func rest() -> [UInt8] { bytes(left.count) }
}
