import Foundation
import TestSupport
import Testing

@testable import Pictures

/// Pictures that take more work than their size suggests, and what of a picture survives when it is made smaller.
@Suite(.serialized) struct WorkBoundTests {
  @Test("A JPEG of many segments is stored with a note before the decoder sees them all")
  func manySegments() throws {
    let empty = [[UInt8]](repeating: segment(0xfe, []), count: 100_000).joined()
    let picture = look(adding(Array(empty), to: try photo("rocket.jpg")))
    #expect(picture.thumbnail == nil && picture.note?.contains("more than 1000 segments") == true)
    let few = [[UInt8]](repeating: segment(0xfe, []), count: 900).joined()
    #expect(look(adding(Array(few), to: try photo("rocket.jpg"))).thumbnail != nil)
  }

  /// A directory of `count` entries with one tag, which all point to the same place, and what follows it.
  private func directory(_ count: Int, _ tag: UInt16, to target: Int, next: Int = 0) -> [UInt8] {
    func little(_ value: Int, _ bytes: Int) -> [UInt8] { (0..<bytes).map { UInt8(value >> (8 * $0) & 0xff) } }
    let entry = little(Int(tag), 2) + little(4, 2) + little(1, 4) + little(target, 4)
    return little(count, 2) + [[UInt8]](repeating: entry, count: count).joined() + little(next, 4)
  }

  @Test(
    "EXIF whose directories are reached more than once, or have too many entries, is not read",
    .timeLimit(.minutes(1)))
  func manyDirectories() throws {
    let header: [UInt8] = [0x49, 0x49, 0x2a, 0, 8, 0, 0, 0]
    let size = 2 + 12 + 4
    let cases: [(block: [UInt8], isRead: Bool)] = [
      (header + directory(1, 0x112, to: 3), true),
      (header + directory(1, 0x8769, to: 8 + size) + directory(1, 0x9003, to: 0), true),
      (header + directory(1, 0x112, to: 3, next: 8 + size) + directory(1, 0x112, to: 1), true),
      (header + directory(ExifDirectories.mostEntries, 0x112, to: 3), true),
      (header + directory(ExifDirectories.mostEntries + 1, 0x112, to: 3), false),
      (header + directory(1, 0x8769, to: 8), false), (header + directory(1, 0x112, to: 3, next: 8), false),
      (header + directory(2, 0x8825, to: 8 + 12 + size) + directory(1, 0, to: 0), false),
      (header + directory(1, 0xa005, to: 9_000_000), true), (header, true), (Array(header.prefix(5)), true),
      (ExifMaker(hasLocation: true).block, true),
    ]
    for (index, (block, isRead)) in cases.enumerated() {
      #expect(ExifDirectories.areBounded(in: block) == isRead, "case \(index)")
    }
    // A reader that follows each pointer is busy with this one for hours.
    let count = 1800
    let length = 2 + 12 * count + 4
    var block = header
    for level in 0..<3 { block += directory(count, level == 0 ? 0x8769 : 0xa005, to: 8 + length * min(level + 1, 2)) }
    let picture = look(adding(segment(0xe1, MetadataSignature.exif + block), to: try photo("rocket.jpg")))
    #expect(picture.thumbnail != nil)
  }

  @Test("A GIF of many frames, or of large ones, is stored with a note")
  func manyFrames() {
    for (frames, size, isRead) in [(1, 1, true), (900, 1, true), (100_000, 1, false), (300, 1_000, false)] {
      let picture = look(animation(frames, size))
      #expect((picture.thumbnail != nil) == isRead, "\(frames) frames of \(size): \(picture.note ?? "")")
      if !isRead { #expect(picture.note?.contains("frames") == true) }
    }
  }

  @Test("The frames of a GIF are counted however its bytes arrive")
  func framesAreCounted() {
    let seed = freshSeed()
    var random = Seeded(seed)
    for _ in 0..<50 {
      let frames = Int.random(in: 1...20, using: &random)
      let file = animation(frames, 3)
      var (counter, count, index) = (GIFFrameCounter(), 0, 0)
      while index < file.count {
        let end = min(file.count, index + Int.random(in: 1...9, using: &random))
        file[index..<end].withUnsafeBytes { counter.take($0, &count) }
        index = end
      }
      #expect(count == frames, "seed \(seed)")
    }
  }

  @Test("A TIFF stands upright in its thumbnail, whatever its orientation", arguments: 1...8)
  func tiffOrientation(orientation: Int) {
    let picture = look(tiff(30, 20, orientation))
    #expect(picture.width == (orientation >= 5 ? 20 : 30) && picture.height == (orientation >= 5 ? 30 : 20))
    #expect(jpegSize(picture.thumbnail ?? []) == (orientation >= 5 ? [20, 30] : [30, 20]))
  }

  @Test("The thumbnail and the recompressed picture carry the colour profile of RGB pictures")
  func profileStays() throws {
    var wishes = PictureOptions()
    wishes.recompressedSide = 300
    let rocket = try photo("rocket.jpg")
    let picture = look(rocket, wishes)
    for file in [try #require(picture.thumbnail), try #require(picture.recompressed)] {
      #expect(Data(file).range(of: Data("Adobe RGB (1998)".utf8)) != nil)
    }
    // The same profile as that of another colour space is not carried over to RGB pixels.
    var other = rocket
    let space = try #require(Data(rocket).range(of: Data("mntrRGB ".utf8)))
    other.replaceSubrange(space, with: Array("mntrCMYK".utf8))
    let thumbnail = try #require(look(other).thumbnail)
    #expect(Data(thumbnail).range(of: Data("ICC_PROFILE".utf8)) == nil)
  }

  /// A GIF of so many frames of one size.
  private func animation(_ frames: Int, _ size: Int) -> [UInt8] {
    func short(_ number: Int) -> [UInt8] { [UInt8(number & 0xff), UInt8(number >> 8)] }
    let frame =
      [0x21, 0xf9, 4, 0, 1, 0, 0, 0, 0x2c, 0, 0, 0, 0] + short(size) + short(size) + [0, 2, 2, 0x44, 1, 0] as [UInt8]
    return Array("GIF89a".utf8) + short(size) + short(size) + [0x80, 0, 0, 0, 0, 0, 255, 255, 255]
      + Array([[UInt8]](repeating: frame, count: frames).joined()) + [0x3b]
  }

  /// An uncompressed TIFF of 8-bit grey.
  private func tiff(_ width: Int, _ height: Int, _ orientation: Int) -> [UInt8] {
    func little(_ number: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
    let entries = [
      (256, 3, width), (257, 3, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8 + 2 + 12 * 10 + 4),
      (274, 3, orientation), (277, 3, 1), (278, 3, height), (279, 4, width * height),
    ]
    var file = [0x49, 0x49, 0x2a, 0] + little(8, 4) + little(entries.count, 2)
    for (tag, type, value) in entries { file += little(tag, 2) + little(type, 2) + little(1, 4) + little(value, 4) }
    return file + little(0, 4) + (0..<width * height).map { UInt8($0 & 0xff) }
  }
}
