import Foundation
import TestSupport
import Testing

@testable import Pictures

@Suite struct CaptureTimeTests {
  @Test(
    "The capture time, its offset and the presence of a location are read from EXIF data in either byte order",
    arguments: [false, true]) func aCameraSaysWhenAndWhere(isBigEndian: Bool) throws
  {
    let exif = ExifMaker(orientation: 3, fraction: "25", offset: "+02:00", isBigEndian: isBigEndian)
    for file in [
      adding(exif, to: try photo("rocket.jpg")), png(20, 20, chunk("eXIf", exif.block)),
    ] {
      let picture = look(file)
      let time = try #require(picture.capturedAt)
      #expect(time.offsetMinutes == 120)
      #expect(time.localMilliseconds == 1_714_566_896_250)
      #expect(time.milliseconds() == 1_714_559_696_250)
      #expect(picture.hasLocation)
    }
    let without = look(adding(ExifMaker(hasLocation: false), to: try photo("rocket.jpg")))
    #expect(!without.hasLocation)
    #expect(without.capturedAt?.offsetMinutes == nil)
    #expect(without.capturedAt?.milliseconds(assuming: -60) == 1_714_570_496_000)
  }

  @Test("An invalid time or offset is ignored") func whatIsNoTimeIsNone() {
    for text in [
      "    :  :     :  :  ", "0000:00:00 00:00:00", "2023:02:29 10:00:00", "2024:05:01", "", "2024:05:01 24:00:00",
    ] {
      #expect(CaptureTime(exif: text, fraction: nil, offset: nil) == nil, "\(text)")
    }
    for offset in ["", "+2:00", "+02-00", "+15:00", "x02:00"] {
      #expect(CaptureTime(exif: "2024:05:01 12:34:56", fraction: nil, offset: offset)?.offsetMinutes == nil)
    }
  }

  @Test("A capture time counts days as the Gregorian calendar does") func daysAreThoseOfTheCalendar() throws {
    let seed = freshSeed()
    var random = Seeded(seed)
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
    for _ in 0..<500 {
      let seconds = Int.random(in: -4_000_000_000...9_000_000_000, using: &random)
      let parts = calendar.dateComponents(
        [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: Double(seconds)))
      let numbers = [parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second].compactMap { $0 }
      let text = String(
        format: "%04d:%02d:%02d %02d:%02d:%02d", numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5])
      let time = CaptureTime(exif: text, fraction: nil, offset: nil)
      #expect(time?.localMilliseconds == Int64(seconds) * 1000, "seed \(seed): \(text)")
    }
  }
}
