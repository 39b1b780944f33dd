import Foundation
import TestSupport
import Testing

@testable import SealedFiles

/// Each kind of damage is detected and reported with its own error.
@Suite struct DamageTests {
  private static let segment = SealedFileFormat.sealedSegmentBytes
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func sample(_ size: Int, _ name: String = "sample", uuid: String = Sample.uuid) throws -> (Sample, [UInt8]) {
    var random = Seeded(UInt64(size))
    let sample = try Sample(folder, name, uuid: uuid)
    try sample.write(random.bytes(size))
    return (sample, try sample.bytes)
  }

  private func code(_ sample: Sample, _ bytes: [UInt8]) throws -> SealedFileError.Code? {
    try sample.replace(with: bytes)
    return SealedFilesTests.code { _ = try sample.reader().verify() }
  }

  /// Every bit of the magic number and of the format version; of the rest a bit of each third byte, others
  /// each time.
  @Test("A flipped bit anywhere in a sealed file is detected") func aFlippedBitOfASmallFileIsFound() throws {
    let seed = freshSeed()
    var random = Seeded(seed)
    let (sample, whole) = try sample(300)
    var bytes = whole
    func expect(_ index: Int, _ bit: Int, _ expected: SealedFileError.Code) throws {
      bytes[index] ^= 1 << UInt8(bit)
      let found = try code(sample, bytes)
      bytes[index] ^= 1 << UInt8(bit)
      #expect(found == expected, "seed \(seed), byte \(index), bit \(bit)")
    }
    for index in 0..<8 { for bit in 0..<8 { try expect(index, bit, .notSealed) } }
    // 1 with another bit set is a higher number; without its one bit it is 0.
    for bit in 0..<8 { try expect(8, bit, bit == 0 ? .notSealed : .newerFormat) }
    let first = Int.random(in: 0..<3, using: &random)
    for index in stride(from: 9 + first, to: bytes.count, by: 3) {
      try expect(index, Int.random(in: 0..<8, using: &random), index < 32 ? .otherContent : .damaged)
    }
    #expect(try code(sample, whole) == nil)
  }

  @Test("A flipped bit anywhere in a large file is detected, and only its chunk is unreadable")
  func aFlippedBitAnywhereInALargeFileIsFoundAndOnlyThereIsNothingReadable() throws {
    let seed = freshSeed()
    var random = Seeded(seed)
    let size = (2 << 20) + 70_000
    let (sample, whole) = try sample(size)
    for _ in 0..<60 {
      var bytes = whole
      let index = Int.random(in: 40..<bytes.count, using: &random)
      bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      #expect(try code(sample, bytes) == .damaged, "seed \(seed), byte \(index)")
      let segment = (index - 40) / Self.segment
      guard segment < 2 else { continue }
      let reader = try sample.reader()
      for other in 0..<3 where other != segment {
        #expect(try reader.read(other << 20..<(other << 20) + 10).count == 10)
      }
      #expect(SealedFilesTests.code { _ = try reader.read(segment << 20..<(segment << 20) + 1) } == .damaged)
    }
  }

  @Test("A truncated sealed file is detected at any length") func everyCutIsFound() throws {
    let (sample, whole) = try sample((2 << 20) + 70_000)
    let seed = freshSeed()
    var random = Seeded(seed)
    var cuts = (0...1_200).map { $0 % 130 } + (0..<40).map { _ in Int.random(in: 0..<whole.count, using: &random) }
    for border in [40, 40 + Self.segment, 40 + 2 * Self.segment, 40 + 24 + SealedFileFormat.sealedMessageBytes] {
      cuts += [border - 1, border, border + 1]
    }
    cuts.append(whole.count - 1)
    for cut in Set(cuts) {
      #expect(try code(sample, Array(whole[..<cut])) == .truncated, "seed \(seed), cut to \(cut)")
    }
  }

  @Test("Appended bytes are detected") func whatIsAppendedIsFound() throws {
    for size in [0, 10, 1 << 16, 1 << 20, (1 << 20) + 1] {
      let (sample, whole) = try sample(size)
      for extra in [1, 16, 17, 18, 24, 41, 42, 70_000, Self.segment, Self.segment + 1] {
        let found = try code(sample, whole + [UInt8](repeating: 0, count: extra))
        #expect(found == .appended, "\(size) and \(extra)")
      }
      #expect(try code(sample, whole + whole) == .appended)
    }
  }

  @Test("A forged length in the header does not hide truncation or appended bytes")
  func aLengthThatWasMadeToFitDoesNotHideIt() throws {
    let (sample, whole) = try sample(3 << 20)
    func with(length: Int, _ bytes: [UInt8]) -> [UInt8] {
      Array(bytes[..<32]) + (0..<8).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) } + Array(bytes[40...])
    }
    let cut = Array(whole[..<(40 + 2 * Self.segment)])
    #expect(try code(sample, with(length: 2 << 20, cut)) == .truncated)
    let longer = whole + whole[40..<(40 + Self.segment)]
    #expect(try code(sample, with(length: 4 << 20, longer)) == .misplaced)
    #expect(try code(sample, with(length: (3 << 20) + 1, whole)) == .damaged)
    #expect(try code(sample, with(length: -1, whole)) == .unfinished)
    #expect(try code(sample, with(length: -2, whole)) == .damaged)
    #expect(try code(sample, with(length: -2, whole + [0])) == .truncated)
    #expect(try code(sample, whole) == nil)
  }

  @Test("Swapped segments and messages are detected") func swappedSegmentsAndMessagesAreFound() throws {
    let (sample, whole) = try sample((4 << 20) + 5)
    func swapped(_ one: Int, _ other: Int, _ count: Int) -> [UInt8] {
      var bytes = whole
      bytes.replaceSubrange(one..<one + count, with: whole[other..<other + count])
      bytes.replaceSubrange(other..<other + count, with: whole[one..<one + count])
      return bytes
    }
    for (one, other) in [(0, 1), (1, 3), (0, 2)] {
      let bytes = swapped(40 + one * Self.segment, 40 + other * Self.segment, Self.segment)
      #expect(try code(sample, bytes) == .misplaced)
    }
    let message = SealedFileFormat.sealedMessageBytes
    #expect(try code(sample, swapped(64 + message, 64 + 3 * message, message)) == .damaged)
    #expect(try code(sample, swapped(64, 64 + Self.segment, message)) == .damaged)
  }

  @Test("The content of another file, another variant or another key is detected") func anotherFileInItsPlaceIsFound()
    throws
  {
    let (one, bytes) = try sample((1 << 20) + 9)
    let (_, others) = try sample((1 << 20) + 9, "other", uuid: "01981c5e-7a00-7000-8000-0123456789ac")
    #expect(try code(one, others) == .otherContent)
    #expect(try code(one, Array(bytes[..<40]) + others[40...]) == .damaged)
    #expect(try code(one, Array(bytes[..<(40 + Self.segment)]) + others[(40 + Self.segment)...]) == .damaged)
    let thumbnail = try SealedFileIdentity(contentUuid: Sample.uuid, variant: .thumbnail)
    try one.replace(with: bytes)
    #expect(
      SealedFilesTests.code { _ = try SealedFileReader(one.path, key: one.key, identity: thumbnail) } == .otherContent)
    var forged = bytes
    forged[9] = 2
    try one.replace(with: forged)
    #expect(SealedFilesTests.code { _ = try SealedFileReader(one.path, key: one.key, identity: thumbnail) } == .damaged)
    let wrongKey = try Sample(folder, keyByte: 1)
    #expect(try code(wrongKey, bytes) == .damaged)
  }

  @Test("A file that is truncated while it is read is detected") func aFileThatIsCutWhileItIsReadIsFound() throws {
    let (sample, whole) = try sample(3 << 20)
    let reader = try sample.reader()
    #expect(truncate(sample.path, off_t(whole.count / 2)) == 0)
    #expect(try reader.read(0..<10).count == 10)
    #expect(SealedFilesTests.code { _ = try reader.verify() } == .damaged)
    try FileManager.default.removeItem(atPath: sample.path)
    #expect(try reader.read(0..<10).count == 10)
  }

  @Test("An invalid content UUID and a short key are refused") func whatIsNoIdentityAndNoKeyIsRefused() throws {
    for text in [
      "", "01981c5e-7a00-7000-8000-0123456789a", "01981c5e-7a00-7000-8000-0123456789ag", "../../../etc/passwd",
    ] {
      #expect(
        SealedFilesTests.code { _ = try SealedFileIdentity(contentUuid: text, variant: .full) } == .badIdentity)
    }
    #expect(
      try SealedFileIdentity(contentUuid: Sample.uuid.uppercased(), variant: .full)
        == SealedFileIdentity(contentUuid: Sample.uuid, variant: .full))
    var short = [UInt8](repeating: 1, count: 31)
    #expect(SealedFilesTests.code { _ = try SealingKey(wiping: &short) } == .badKey)
  }
}
