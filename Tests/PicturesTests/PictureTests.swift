import Foundation
import Testing

@testable import Pictures

@Suite struct PictureTests {
  @Test(
    "A photo has its size and a thumbnail of at most 200 pixels",
    arguments: [("rocket.jpg", 640, 427, [200, 133]), ("retina.jpg", 1411, 1411, [200, 200])])
  func aRealPhotoHasASizeAndAThumbnailThatFits(name: String, width: Int, height: Int, small: [Int]) throws {
    let file = try photo(name)
    for pieces in [1 << 16, 1_000, file.count] {
      let picture = look(file, pieces: pieces)
      #expect(picture.mimeType == "image/jpeg")
      #expect(picture.width == width && picture.height == height)
      #expect(picture.note == nil)
      #expect(picture.capturedAt == nil && !picture.hasLocation && picture.recompressed == nil)
      let thumbnail = try #require(picture.thumbnail)
      #expect(jpegSize(thumbnail) == small)
      #expect(thumbnail.count < 20_000)
      #expect(look(thumbnail).note == nil)
    }
  }

  @Test("A file read byte by byte gives the same picture as the whole file") func aByteAtATimeIsEnough() throws {
    let file = adding(ExifMaker(orientation: 6), to: try photo("rocket.jpg"))
    let (one, whole) = (look(file, pieces: 1), look(file, pieces: file.count))
    #expect(one.thumbnail == whole.thumbnail)
    #expect(one.capturedAt == whole.capturedAt && one.capturedAt != nil)
    #expect(one.width == 427 && one.hasLocation)
  }

  @Test("Size and thumbnail follow the EXIF orientation", arguments: 1...8) func thePictureStandsUpright(
    orientation: Int
  ) throws {
    let picture = look(adding(ExifMaker(orientation: orientation), to: try photo("rocket.jpg")))
    let isTurned = orientation >= 5
    #expect(picture.width == (isTurned ? 427 : 640))
    #expect(picture.height == (isTurned ? 640 : 427))
    #expect(jpegSize(picture.thumbnail ?? []) == (isTurned ? [200, 300] : [200, 133]))
  }

  @Test("A recompressed picture is smaller, upright and without metadata")
  func aRecompressedPictureIsSmallerUprightAndSaysNothing() throws {
    var wishes = PictureOptions()
    wishes.recompressedSide = 500
    let picture = look(adding(ExifMaker(orientation: 8), to: try photo("rocket.jpg")), wishes)
    let recompressed = try #require(picture.recompressed)
    #expect(jpegSize(recompressed) == [334, 500])
    #expect(picture.width == 427 && picture.height == 640)
    let again = look(recompressed)
    #expect(again.capturedAt == nil && !again.hasLocation && again.note == nil)
    wishes.recompressedSide = 5000
    let same = try #require(look(try photo("rocket.jpg"), wishes).recompressed)
    #expect(jpegSize(same) == [640, 427])
  }

  @Test("PNG, GIF and BMP files have a size and a thumbnail") func otherKindsAreReadToo() {
    for (file, type) in [(png(400, 100), "image/png"), (gif(1, 1), "image/gif"), (bmp(30, 20, rows: 20), "image/bmp")] {
      let picture = look(file)
      #expect(picture.mimeType == type)
      #expect(picture.note == nil, "\(type)")
      #expect(jpegSize(picture.thumbnail ?? []) != nil, "\(type)")
    }
    #expect(jpegSize(look(png(400, 100)).thumbnail ?? []) == [200, 50])
    #expect(look(png(1, 3000)).height == 3000)
  }

  @Test("The media type is detected from the content") func theKindIsThatOfTheContent() {
    let kinds: [([UInt8], String)] = [
      ([], "application/octet-stream"), (Array("BM, not a bitmap at all, only words".utf8), "application/octet-stream"),
      (Array("%PDF-1.7".utf8), "application/pdf"), (Array("PK".utf8) + [3, 4], "application/zip"),
      ([0, 0, 0, 24] + Array("ftypheic".utf8), "image/heic"), ([0, 0, 0, 24] + Array("ftypisom".utf8), "video/mp4"),
      (Array("RIFF".utf8) + [1, 2, 3, 4] + Array("WAVE".utf8), "audio/wav"),
    ]
    for (bytes, type) in kinds { #expect(look(bytes).mimeType == type) }
    #expect(look(Array("%PDF-1.7".utf8)).note == nil)
  }
}
