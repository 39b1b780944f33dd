import Foundation
import Platform
import TestSupport
import Testing

@testable import SealedFiles
@testable import VaultKeys

/// Sizes beside every border of the format.
let borderSizes: [Int] = {
  let message = 1 << 16
  let segment = 1 << 20
  let borders = [message, 2 * message, segment - message, segment, segment + message, 2 * segment, 3 * segment]
  return [0, 1] + borders.flatMap { [$0 - 1, $0, $0 + 1] }
}()

@Suite struct RoundTripTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("A sealed file returns its content, size and digest", arguments: borderSizes)
  func everyContentComesBackWithItsDigest(size: Int) throws {
    var random = Seeded(UInt64(size))
    let content = random.bytes(size)
    let sample = try Sample(folder, "size-\(size)")
    for pieces in [size + 1, 1 << 16, 100_003] {
      let summary = try sample.write(content, pieces: pieces)
      let digest = ContentDigest()
      content.withUnsafeBytes { digest.add($0) }
      let expected = digest.finish()
      #expect(summary.plainBytes == size)
      #expect(summary.sealedBytes == SealedFileFormat.sealedSize(ofPlain: size))
      #expect(try sample.bytes.count == summary.sealedBytes)
      #expect(summary.sha256 == expected)
      #expect(try sample.reader().byteCount == size)
      #expect(try sample.reader().verify() == expected)
      #expect(try sample.content() == content)
    }
  }

  @Test("Any range of a sealed file equals that range of its content") func everyRangeIsThatOfTheContent() throws {
    let seed = freshSeed()
    var random = Seeded(seed)
    let content = random.bytes(3 << 20 | 12_345)
    let sample = try Sample(folder)
    try sample.write(content)
    let reader = try sample.reader()
    for _ in 0..<300 {
      let start = Int.random(in: 0...content.count, using: &random)
      let longest = Bool.random(using: &random) ? 100 : content.count - start
      let end = start + Int.random(in: 0...min(longest, content.count - start), using: &random)
      #expect(try reader.read(start..<end) == Array(content[start..<end]), "seed \(seed), \(start)..<\(end)")
    }
    #expect(code { _ = try reader.read(content.count - 1..<content.count + 1) } == .badRange)
    for start in [0, 1, 1 << 20, (1 << 20) + 1, 3 << 20, content.count] {
      var rest: [UInt8] = []
      try reader.forEachChunk(from: start) { rest += $0 }
      #expect(rest == Array(content[start...]), "from \(start)")
    }
  }

  @Test(
    "A writer reads its source until the source returns no bytes",
    arguments: [0, 1, 1 << 20, 2 << 20, (2 << 20) + 1, 2_500_000])
  func aSourceIsReadUntilItGivesNothing(size: Int) throws {
    let seed = freshSeed()
    var random = Seeded(seed)
    let content = random.bytes(size)
    for most in [300_000, 1 << 20, 4 << 20] {
      let sample = try Sample(folder, "source-\(size)-\(most)")
      let writer = try SealedFileWriter(creating: sample.path, key: sample.key, identity: sample.identity)
      var start = 0
      try writer.append(reading: { room in
        let count = min(room.count, content.count - start, Int.random(in: most / 3...most, using: &random))
        room.copyBytes(from: content[start..<start + count])
        start += count
        return count
      })
      #expect(try writer.finish().plainBytes == size)
      #expect(try sample.content() == content, "seed \(seed), \(size) by \(most)")
    }
  }

  @Test("A writer does not overwrite a file and removes an abandoned one")
  func nothingIsOverwrittenAndAbandonedFilesAreGone() throws {
    let sample = try Sample(folder)
    try sample.write([1, 2, 3])
    #expect(
      code { _ = try SealedFileWriter(creating: sample.path, key: sample.key, identity: sample.identity) }
        == .alreadyExists)
    let other = try Sample(folder, "other")
    let writer = try SealedFileWriter(creating: other.path, key: other.key, identity: other.identity)
    try writer.append([UInt8](repeating: 7, count: 3 << 20))
    writer.abandon()
    #expect(!FileManager.default.fileExists(atPath: other.path))
    #expect(code { _ = try other.reader() } == .notFound)
    #expect(code { _ = try SealedFileReader(folder.path, key: other.key, identity: other.identity) } == .unreadable)
  }

  @Test("A writer does not follow a symbolic link") func aLinkIsNotFollowed() throws {
    let sample = try Sample(folder)
    let target = folder.file("target")
    try FileManager.default.createSymbolicLink(atPath: sample.path, withDestinationPath: target)
    #expect(
      code { _ = try SealedFileWriter(creating: sample.path, key: sample.key, identity: sample.identity) }
        == .alreadyExists)
    #expect(!FileManager.default.fileExists(atPath: target))
  }

  #if os(Linux)
    @Test("A full disk is reported with the name of the file", arguments: [10, 3 << 20]) func aFullDiskIsReportedByName(
      size: Int
    ) throws {
      let sample = try Sample(folder)
      let sealer = SegmentSealer(
        try Descriptor(opening: "/dev/full", O_WRONLY), path: "/dev/full", key: sample.key, identity: sample.identity)
      let writer = SealedFileWriter(sealer, digest: ContentDigest(), segment: 0)
      do {
        try sample.feed([UInt8](repeating: 1, count: size), to: writer, pieces: size)
        _ = try writer.finish()
        Issue.record("a full disk took it")
      } catch let error as SealedFileError {
        #expect(error.code == .noSpace)
        #expect(error.message.hasPrefix("/dev/full:"))
      }
    }
  #endif

  @Test("Two files of the same content and key differ in all bytes after the header")
  func twoFilesOfTheSameContentHaveNothingInCommon() throws {
    let content = [UInt8](repeating: 0, count: 200_000)
    let sample = try Sample(folder)
    try sample.write(content)
    let first = try sample.bytes
    try sample.write(content)
    let second = try sample.bytes
    #expect(first[..<40] == second[..<40])
    let equal = zip(first[40...], second[40...]).count { $0 == $1 }
    #expect(equal < first.count / 100)
  }
}

@Suite struct SizeTests {
  @Test("Plain and sealed sizes convert in both directions, and impossible sealed sizes are refused")
  func sizesAreFoundAgainAndOthersAreRefused() {
    for count in borderSizes + [5 << 30, (5 << 30) + 1] {
      let sealed = SealedFileFormat.sealedSize(ofPlain: count)
      #expect(SealedFileFormat.plainSize(ofSealed: sealed) == count)
    }
    var last = -1
    var count = 0
    for sealed in 0..<SealedFileFormat.sealedSize(ofPlain: (2 << 20) + 5) {
      guard let plain = SealedFileFormat.plainSize(ofSealed: sealed) else { continue }
      #expect(plain == last + 1)
      #expect(SealedFileFormat.sealedSize(ofPlain: plain) == sealed)
      (last, count) = (plain, count + 1)
    }
    #expect(count == (2 << 20) + 5)
    #expect(SealedFileFormat.plainSize(ofSealed: -1) == nil)
  }
}
