import Foundation
import Testing

@testable import Pictures

@Suite struct LocationTests {
  private func has(_ part: [UInt8], in bytes: [UInt8]) -> Bool {
    bytes.indices.contains { bytes[$0...].starts(with: part) }
  }

  private let xmp = segment(0xe1, MetadataSignature.xmp + Array("<x exif:GPSLatitude='52,31N'/>".utf8))
  private let latitude = ExifMaker.latitude.flatMap { number in
    (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  /// The JPEG without its comment segments before the pixels.
  private func withoutComments(_ jpeg: [UInt8]) -> [UInt8] {
    var (result, index) = (Array(jpeg[..<2]), 2)
    while jpeg[index + 1] != 0xda {
      let end = index + 2 + Int(jpeg[index + 2]) << 8 + Int(jpeg[index + 3])
      if jpeg[index + 1] != 0xfe { result += jpeg[index..<end] }
      index = end
    }
    return result + jpeg[index...]
  }

  @Test(
    "A JPEG without its location keeps its colour profile, capture time, orientation and pixels",
    arguments: [1, 7, 1 << 16]) func nothingOfAPlaceIsLeft(pieces: Int) throws
  {
    let rocket = try photo("rocket.jpg")
    let exif = ExifMaker(orientation: 6, offset: "+02:00")
    let iptc = segment(0xed, Array("Photoshop 3.0".utf8) + [0] + Array("Berlin".utf8))
    let second = adding(exif, to: rocket)
    let profile = segment(0xe2, Array("ICC_PROFILE".utf8) + [0, 1, 1, 9, 9, 9])
    let full = adding(
      segment(0xe1, MetadataSignature.exif + exif.block), xmp, iptc, profile, segment(0xe2, Array("MPF".utf8) + [0]),
      to: rocket)
    let (clean, outcome) = try withoutLocation(full + second, pieces: pieces)
    #expect(outcome == .clean)
    #expect(has(latitude, in: full) && !has(latitude, in: clean))
    for word in ["GPS", "Berlin", "MPF", "xap"] { #expect(!has(Array(word.utf8), in: clean), "\(word)") }
    #expect(has(Array("ICC_PROFILE".utf8), in: clean))
    let picture = look(clean)
    #expect(look(full).hasLocation && !picture.hasLocation)
    #expect(picture.capturedAt?.offsetMinutes == 120)
    #expect(picture.width == 427)
    #expect(picture.thumbnail == look(full).thumbnail)
    // The pixels are the same bytes.
    let pixels = try #require(rocket.indices.first { rocket[$0] == 0xff && rocket[$0 + 1] == 0xda })
    #expect(clean.suffix(rocket.count - pixels).elementsEqual(rocket[pixels...]))
  }

  @Test("A PNG whose end is left out is not clean")
  func endsWithContent() throws {
    var file = png(10, 10)
    file[file.count - 9] = 4
    #expect(try withoutLocation(file + [0, 0, 0, 0]).1 == .unsure)
    #expect(try withoutLocation(png(10, 10)).1 == .clean)
  }

  @Test("Of a picture without a place only the comment is left out")
  func aPictureWithoutAPlaceKeepsItsBytes() throws {
    for name in ["rocket.jpg", "retina.jpg"] {
      let file = try photo(name)
      let (clean, outcome) = try withoutLocation(file, pieces: 999)
      #expect(outcome == .clean)
      #expect(clean == withoutComments(file))
    }
    #expect(try withoutLocation(png(10, 10)) == (png(10, 10), .clean))
  }

  @Test("A PNG without its location loses its texts and coordinates and keeps its other chunks")
  func aPNGLosesItsTextsAndItsExif() throws {
    let file = png(
      10, 10, chunk("eXIf", ExifMaker().block), chunk("iTXt", Array("XML:com.adobe.xmp".utf8)), chunk("caBX", [1, 2]),
      chunk("gAMA", big(45_455)))
    for pieces in [1, 13, 1 << 16] {
      let (clean, outcome) = try withoutLocation(file + [1, 2, 3], pieces: pieces)
      #expect(outcome == .clean)
      #expect(look(clean).capturedAt == look(file).capturedAt && look(clean).capturedAt != nil)
      #expect(!has(latitude, in: clean) && !has(Array("adobe".utf8), in: clean))
      #expect(has(chunk("gAMA", big(45_455)), in: clean) && clean.suffix(12).elementsEqual(chunk("IEND", [])))
    }
  }

  @Test("The removal of a location from a truncated or unsupported file is reported as unsure")
  func whatIsNotUnderstoodIsUnsure() throws {
    let rocket = try photo("rocket.jpg")
    for file in [
      [], Array("words".utf8), gif(1, 1), bmp(2, 2, rows: 2), Array(rocket.dropLast(2)), Array(rocket[..<300]),
    ] {
      #expect(try withoutLocation(file).1 == .unsure)
    }
    #expect(try withoutLocation(Array(png(10, 10).dropLast(1))).1 == .unsure)
  }

  @Test("A progressive picture with several scans stays unchanged")
  func aProgressivePictureWithSeveralScansStaysAsItIs() throws {
    let rocket = try photo("rocket.jpg")
    let pixels = try #require(rocket.indices.first { rocket[$0] == 0xff && rocket[$0 + 1] == 0xda })
    // A second scan with tables before it, and metadata between them.
    let tables = segment(0xc4, [0] + [UInt8](repeating: 0, count: 16))
    let body = Array(rocket.dropLast(2))
    let file = body + tables + xmp + Array(rocket[pixels...])
    for pieces in [1, 2, 3, 1 << 16] {
      let (clean, outcome) = try withoutLocation(file, pieces: pieces)
      #expect(outcome == .clean)
      #expect(clean == withoutComments(body + tables + Array(rocket[pixels...])))
    }
  }
}
