import Testing

@testable import SealedFiles

@Suite struct SizeTests {
  @Test func sizesAreFoundAgain() {
    for count in [0, 1, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 5 << 30] {
      #expect(SealedFileFormat.plainSize(ofSealed: SealedFileFormat.sealedSize(ofPlain: count)) == count)
    }
  }
}
