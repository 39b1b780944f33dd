import Foundation
import TestSupport
import Testing

@testable import Pictures

/// Every part of a JPEG and of a PNG that can hold the place where the picture was taken.
@Suite struct LocationPlacesTests {
  private static let place = Array("LATITUDE 52 31 48".utf8)

  private static func tiff(_ tag: Int, _ type: Int, in directory: Directory) -> [UInt8] {
    var maker = TagMaker()
    maker.add(tag, type, place, to: directory)
    return maker.block
  }

  static let segments: [(String, [UInt8])] = [
    ("XMP in IFD0", segment(0xe1, MetadataSignature.exif + tiff(0x2bc, 1, in: .main))),
    ("IPTC in IFD0", segment(0xe1, MetadataSignature.exif + tiff(0x83bb, 7, in: .main))),
    ("Photoshop blocks in IFD0", segment(0xe1, MetadataSignature.exif + tiff(0x8649, 1, in: .main))),
    ("an image description", segment(0xe1, MetadataSignature.exif + tiff(0x10e, 2, in: .main))),
    ("a maker note", segment(0xe1, MetadataSignature.exif + tiff(0x927c, 7, in: .camera))),
    ("a user comment", segment(0xe1, MetadataSignature.exif + tiff(0x9286, 7, in: .camera))),
    ("the thumbnail of EXIF", segment(0xe1, MetadataSignature.exif + tiff(0x10e, 2, in: .thumbnail))),
    (
      "bytes behind the directories",
      segment(0xe1, MetadataSignature.exif + ExifMaker(hasLocation: false).block + place)
    ),
    (
      "a second EXIF block",
      segment(0xe1, MetadataSignature.exif + ExifMaker().block)
        + segment(0xe1, MetadataSignature.exif + tiff(0x10e, 2, in: .main))
    ),
    ("XMP", segment(0xe1, MetadataSignature.xmp + place)),
    ("IPTC", segment(0xed, Array("Photoshop 3.0".utf8) + [0] + place)),
    ("a JFXX thumbnail", segment(0xe0, Array("JFXX".utf8) + [0, 0x10] + place)),
    ("the thumbnail of JFIF", segment(0xe0, Array("JFIF".utf8) + [0, 1, 1, 0, 0, 1, 0, 1, 6, 1] + place + [0])),
    ("a CIFF block", segment(0xe0, Array("II".utf8) + [26, 0, 0, 0] + Array("HEAPJPGM".utf8) + place)),
    ("a comment", segment(0xfe, place)),
    (
      "a block behind Adobe's",
      segment(
        0xee,
        Array("Adobe".utf8)
          + [0, 100, 0, 0, 0, 0, 1] + place)
    ),
    ("a FlashPix block", segment(0xe2, Array("FPXR".utf8) + [0] + place)),
    ("another application", segment(0xeb, Array("JP".utf8) + place)),
    ("a reserved marker", segment(0xf0, place)), ("a JPEG extension", segment(0xc8, place)),
  ]

  @Test("No part of a JPEG passes the place on", arguments: segments)
  func jpeg(part: (name: String, bytes: [UInt8])) throws {
    let file = adding(part.bytes, to: try photo("rocket.jpg"))
    let (clean, outcome) = try withoutLocation(file, pieces: 997)
    #expect(outcome == .clean && contains(file, Self.place) && !contains(clean, Self.place), "\(part.name)")
    #expect(look(clean).width == 640 && look(clean).note == nil)
  }

  @Test(
    "No chunk of a PNG passes the place on",
    arguments: ["tEXt", "zTXt", "iTXt", "eXIf", "tIME", "sPLT", "hIST", "gAMA", "pHYs", "sRGB", "caBX", "prVt", "IEND"])
  func png(name: String) throws {
    let file = PicturesTests.png(8, 8, chunk(name, Self.place))
    let (clean, _) = try withoutLocation(file, pieces: 5)
    #expect(!contains(clean, Self.place), "\(name)")
  }

  @Test("Orientation and capture time stay, whatever their values")
  func orientationAndTimeStay() throws {
    let seed = freshSeed()
    var random = Seeded(seed)
    let rocket = try photo("rocket.jpg").prefix(2_000) + [0xff, 0xd9]
    for _ in 0..<200 {
      let hour = Int.random(in: 0...13, using: &random)
      let year = Int.random(in: 1826...9998, using: &random)
      let maker = ExifMaker(
        orientation: Int.random(in: 1...8, using: &random),
        time: Bool.random(using: &random)
          ? String(format: "%04d:%02d:28 %02d:59:07", year, Int.random(in: 1...12, using: &random), hour) : nil,
        fraction: String(format: "%03d", Int.random(in: 0...999, using: &random)),
        offset: Bool.random(using: &random) ? String(format: "-%02d:30", hour) : nil,
        isBigEndian: Bool.random(using: &random))
      let file = adding(maker, to: Array(rocket))
      let (before, after) = (scanned(file), scanned(try withoutLocation(file).0))
      #expect(after.orientation == maker.orientation && after.capturedAt == before.capturedAt, "seed \(seed): \(maker)")
      #expect(before.hasLocation && !after.hasLocation)
      #expect((before.capturedAt == nil) == (maker.time == nil))
    }
  }

  private func scanned(_ file: [UInt8]) -> PictureMetadata {
    let scanner = MetadataScanner(.jpeg)
    file.withUnsafeBytes { scanner.take($0) }
    return scanner.metadata
  }

  private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    Data(bytes).range(of: Data(part)) != nil
  }

  enum Directory { case main, camera, thumbnail }

  /// A TIFF structure with one tag of the test in one of its directories.
  private struct TagMaker {
    var block: [UInt8] = []

    mutating func add(_ tag: Int, _ type: Int, _ value: [UInt8], to directory: Directory) {
      let entry = { (tag: Int, type: Int, count: Int, value: Int) in
        Self.little(tag, 2) + Self.little(type, 2) + Self.little(count, 4) + Self.little(value, 4)
      }
      // IFD0 stands at 8 and has two entries; a second directory follows at 38, and the value behind it.
      let valueStart = 38 + 18
      let tested = entry(tag, type, value.count, valueStart)
      let orientation = entry(0x112, 3, 1, 1)
      let pointer = directory == .camera ? entry(0x8769, 4, 1, 38) : directory == .main ? tested : entry(0x128, 3, 1, 2)
      block = [0x49, 0x49, 0x2a, 0] + Self.little(8, 4) + Self.little(2, 2) + orientation + pointer
      block += Self.little(directory == .thumbnail ? 38 : 0, 4)
      block += Self.little(1, 2) + (directory == .main ? entry(0x128, 3, 1, 2) : tested) + Self.little(0, 4) + value
    }

    private static func little(_ number: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
  }
}
