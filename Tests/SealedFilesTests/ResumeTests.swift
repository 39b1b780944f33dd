import Foundation
import TestSupport
import Testing

@testable import SealedFiles

/// A writer that was cut off goes on, wherever it was cut.
@Suite struct ResumeTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("A writer resumes an unfinished file after its last whole segment") func aWriterGoesOnAfterACutAnywhere() throws
  {
    let seed = freshSeed()
    var random = Seeded(seed)
    let content = random.bytes((3 << 20) + 100)
    let sample = try Sample(folder)
    let summary = try sample.write(content)
    let whole = try sample.bytes
    let unfinished = Array(whole[..<32]) + [UInt8](repeating: 0xff, count: 8) + Array(whole[40...])
    let segment = SealedFileFormat.sealedSegmentBytes
    let cuts =
      [0, 1, 39, 40, 41, 64, 40 + segment - 1, 40 + segment, 40 + segment + 1, 40 + 3 * segment, whole.count]
      + (0..<20).map { _ in Int.random(in: 0..<whole.count, using: &random) }
    for cut in cuts {
      try sample.replace(with: Array(unfinished[..<cut]))
      let writer = try SealedFileWriter.resume(sample.path, key: sample.key, identity: sample.identity)
      #expect(writer.plainBytes == (max(0, cut - 40) / segment) << 20, "seed \(seed), cut to \(cut)")
      #expect(code { _ = try sample.reader() } == .unfinished)
      try sample.feed(content, to: writer, pieces: 70_001)
      #expect(try writer.finish() == summary)
      #expect(try sample.content() == content)
    }
  }

  @Test("A writer resumes before a damaged segment and writes that segment again")
  func whatWasDamagedSinceIsWrittenAgain() throws {
    var random = Seeded(1)
    let content = random.bytes(3 << 20)
    let sample = try Sample(folder)
    try sample.write(content)
    var bytes = try sample.bytes
    bytes[40 + SealedFileFormat.sealedSegmentBytes + 500] ^= 4
    try sample.replace(with: bytes)
    let writer = try SealedFileWriter.resume(sample.path, key: sample.key, identity: sample.identity)
    #expect(writer.plainBytes == 1 << 20)
    try sample.feed(content, to: writer, pieces: 1 << 20)
    _ = try writer.finish()
    #expect(try sample.content() == content)
  }

  @Test("A crashed writer leaves a file that can be resumed")
  func aWriterThatDiedMidwayLeavesWhatCanBeGoneOnWith() throws {
    var random = Seeded(2)
    let content = random.bytes((4 << 20) + 3)
    let sample = try Sample(folder)
    do {
      let writer = try SealedFileWriter(creating: sample.path, key: sample.key, identity: sample.identity)
      try sample.feed(Array(content[..<2_600_000]), to: writer, pieces: 333_333)
    }
    let writer = try SealedFileWriter.resume(sample.path, key: sample.key, identity: sample.identity)
    #expect(writer.plainBytes == 2 << 20)
    try sample.feed(content, to: writer, pieces: 1 << 16)
    _ = try writer.finish()
    #expect(try sample.content() == content)
  }

  @Test("A writer does not resume a file of other content, a plain file or a missing file")
  func nothingOfSomebodyElseIsGoneOnWith() throws {
    let sample = try Sample(folder)
    let other = try SealedFileIdentity(contentUuid: "01981c5e-7a00-7000-8000-0123456789ac", variant: .full)
    try sample.write([1, 2, 3])
    #expect(code { _ = try SealedFileWriter.resume(sample.path, key: sample.key, identity: other) } == .otherContent)
    try sample.replace(with: [UInt8]("somebody's text, which is longer than a header".utf8))
    #expect(
      code { _ = try SealedFileWriter.resume(sample.path, key: sample.key, identity: sample.identity) } == .notSealed)
    #expect(
      code { _ = try SealedFileWriter.resume(folder.file("none"), key: sample.key, identity: other) } == .notFound)
  }
}
