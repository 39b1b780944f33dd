import Testing

@testable import Platform

@Suite struct RandomSourceTests {
  @Test("The system fills every part of a buffer, also beyond 256 bytes")
  func systemFillsTheBuffer() {
    let bytes = RandomSource.system.bytes(4096)
    // A part of 64 bytes stays zero with a probability of 2 to the power of -512.
    for start in stride(from: 0, to: bytes.count, by: 64) {
      #expect(bytes[start..<start + 64].contains { $0 != 0 })
    }
    #expect(RandomSource.system.bytes(0).isEmpty)
  }

  @Test("A number takes all of its 64 bits from the source")
  func number() {
    let source = RandomSource { $0.initializeMemory(as: UInt8.self, repeating: 0xA5) }
    #expect(source.number() == 0xA5A5_A5A5_A5A5_A5A5)
  }
}
