import Foundation
import TestSupport
import Testing

@testable import Pictures

/// What is broken, hostile or enormous is a file like any other, with a note, and costs no more memory than is allowed.
@Suite(.serialized) struct HostileTests {
  @Test("A truncated photo gets a note and no thumbnail") func aPhotoThatIsCutAnywhereIsKeptWithANote() throws {
    let file = adding(ExifMaker(), to: try photo("rocket.jpg"))
    let seed = freshSeed()
    var random = Seeded(seed)
    let cuts = Array(0..<800) + (0..<30).map { _ in Int.random(in: 800..<file.count - 2, using: &random) }
    for cut in cuts {
      let picture = look(Array(file[..<cut]))
      #expect(picture.thumbnail == nil && picture.width == nil, "seed \(seed), cut to \(cut)")
      #expect((picture.note != nil) == (cut >= 3), "cut to \(cut)")
    }
  }

  @Test("A photo with flipped bytes is decoded or kept, and never crashes")
  func aPhotoWithFlippedBytesIsReadOrKeptAndNeverFatal() throws {
    let file = adding(ExifMaker(), to: try photo("rocket.jpg"))
    let seed = freshSeed()
    var random = Seeded(seed)
    for round in 0..<100 {
      var bytes = file
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let end = round.isMultiple(of: 2) ? 1_000 : bytes.count
        bytes[Int.random(in: 3..<end, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let picture = look(bytes)
      #expect((picture.thumbnail == nil) == (picture.note != nil), "seed \(seed), round \(round)")
      _ = try withoutLocation(bytes)
    }
  }

  @Test("Random bytes after a known signature get a note") func garbageBehindEveryMagicNumberIsKeptWithANote() {
    let beginnings: [[UInt8]] = [
      [0xff, 0xd8, 0xff, 0xe0], pngBeginning(10, 10), Array("GIF89a".utf8), Array(bmp(10, 10, rows: 0)),
      [0x49, 0x49, 0x2a, 0],
      [0x4d, 0x4d, 0, 0x2a], Array("RIFF".utf8) + [9, 9, 9, 0] + Array("WEBPVP8 ".utf8),
      [0, 0, 0, 24] + Array("ftypheic".utf8), [0, 0, 0, 24] + Array("ftypavif".utf8),
    ]
    let seed = freshSeed()
    var random = Seeded(seed)
    for beginning in beginnings {
      for count in [0, 1, 100, 100_000] {
        let picture = look(beginning + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        #expect(picture.mimeType.hasPrefix("image/"), "\(beginning)")
        // Rows of pixels are any bytes.
        if picture.mimeType != "image/bmp" { #expect(picture.note != nil, "seed \(seed), \(beginning) and \(count)") }
      }
    }
  }

  @Test("A picture of 60,000 by 60,000 pixels is refused before memory is allocated for the pixels")
  func aBombIsRefusedBeforeItTakesMemory() throws {
    let rows = chunk("IDAT", [0x78, 0x9c] + [UInt8](repeating: 0, count: 50_000))
    var jpeg = try photo("rocket.jpg")
    let frame = try #require(jpeg.indices.first { jpeg[$0] == 0xff && jpeg[$0 + 1] == 0xc0 })
    jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xea, 0x60, 0xea, 0x60])
    var progressive = jpeg
    progressive[frame + 1] = 0xc2
    for bomb in [
      pngBeginning(60_000, 60_000) + rows, gif(60_000, 60_000), bmp(60_000, 60_000, rows: 2), progressive, jpeg,
    ] {
      let before = peakBytes(reset: true)
      let picture = look(bomb)
      #expect(picture.width == nil)
      #expect(picture.note?.contains("60000 by 60000") == true, "\(picture.mimeType): \(picture.note ?? "")")
      // Other tests run beside this one; without the limit it would be more than 10 GB.
      #expect(peakBytes(reset: false) - before < 500 << 20)
    }
  }

  /// Pictures that are not progressive, and take as much memory or time as if they were.
  @Test("A JPEG that takes the memory or time of a progressive one is refused") func aBombThatHidesWhatItIsIsRefused()
    throws
  {
    let jpeg = try photo("rocket.jpg")
    let frame = try #require(jpeg.indices.first { jpeg[$0] == 0xff && jpeg[$0 + 1] == 0xc0 })
    let scan = try #require(jpeg.indices.first { $0 > frame && jpeg[$0] == 0xff && jpeg[$0 + 1] == 0xda })
    let header = jpeg[scan..<scan + 2 + Int(jpeg[scan + 2]) << 8 + Int(jpeg[scan + 3])]
    // Three components that come one by one.
    var apart = jpeg
    apart.replaceSubrange(scan..<header.endIndex, with: [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0])
    apart.replaceSubrange(frame + 5..<frame + 9, with: [0x3e, 0x80, 0x3e, 0x80])
    // A library passes over what stands between two markers; then the frame would be seen by that one alone.
    let garbled = jpeg[..<frame] + [0x12, 0x34] + jpeg[frame...]
    let passes = jpeg.dropLast(2) + [[UInt8]](repeating: header + [0, 0, 0, 0], count: 120).joined() + [0xff, 0xd9]
    for (bomb, note) in [(apart, "16000 by 16000"), (Array(garbled), "damaged"), (Array(passes), "100 scans")] {
      let before = peakBytes(reset: true)
      let picture = look(bomb)
      #expect(picture.thumbnail == nil && picture.note?.contains(note) == true, "\(note): \(picture.note ?? "")")
      #expect(peakBytes(reset: false) - before < 500 << 20)
    }
  }

  @Test("The option for decoded bytes limits the size of a decoded picture") func whatIsAllowedCanBeSet() {
    var wishes = PictureOptions()
    wishes.decodingBytes = 400 * 100 * 4 - 1
    #expect(look(png(400, 100), wishes).note != nil)
    wishes.decodingBytes += 1
    #expect(look(png(400, 100), wishes).note == nil)
  }

  @Test("A damaged EXIF block prevents neither the thumbnail nor the removal of the location")
  func aHostileExifBlockIsPassedOver() throws {
    let rocket = try photo("rocket.jpg")
    let seed = freshSeed()
    var random = Seeded(seed)
    for _ in 0..<150 {
      var block = ExifMaker(fraction: "1", offset: "+01:00").block
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        block[Int.random(in: 0..<block.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if Bool.random(using: &random) { block = Array(block.prefix(Int.random(in: 0...block.count, using: &random))) }
      let file = adding(segment(0xe1, MetadataSignature.exif + block), to: rocket)
      #expect(look(file).thumbnail != nil, "seed \(seed)")
      let (clean, outcome) = try withoutLocation(file)
      #expect(outcome == .clean && !look(clean).hasLocation, "seed \(seed)")
    }
  }

  /// The most memory that this process had, since the last reset.
  private func peakBytes(reset: Bool) -> Int {
    if reset { try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) << 10
  }
}
