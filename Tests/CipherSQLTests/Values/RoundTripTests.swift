@testable import CipherSQL
import Foundation
import TestSupport
import Testing

/// Stored values read back equal; compared with SQLite itself for random values.
@Suite struct RoundTripTests {
  let database: Database

  init() throws { database = try Database.inMemory() }

  private func roundTrip<Value: SQLValue>(_ value: Value) throws -> Value? {
    try database.read { db in try db.fetchOne("SELECT \(value)", as: Value.self) }
  }

  @Test("Dates convert to the text that SQLite writes and back") func datesAsSQLiteWritesThem() throws {
    var generator = Seeded(testSeed)
    var times = (0..<2000).map { _ in Int64.random(in: TimestampText.range, using: &generator) }
    times += [TimestampText.range.lowerBound, TimestampText.range.upperBound, 0, -1, 1, 951_782_400_000]
    try database.read { db in
      for time in times {
        let date = Date(millisecondsSince1970: time)
        #expect(Date(sqlText: date.sqlText) == date, "seed \(testSeed), time \(time)")
        let (read, text) = try #require(try db.fetchRows("SELECT \(date), \(date)", as: Date.self, String.self).first)
        #expect(read == date, "seed \(testSeed), time \(time)")
        #expect(text == date.sqlText)
        // Whole seconds, which SQLite keeps exactly in this form.
        let seconds = time >= 0 ? time / 1000 : (time - 999) / 1000
        let written = try db.fetchOne("SELECT strftime('%Y-%m-%dT%H:%M:%S', \(seconds), 'unixepoch')", as: String.self)
        #expect(written == String(text.prefix(19)), "seed \(testSeed), time \(time)")
      }
    }
  }

  @Test("Invalid date text and dates out of range are refused") func datesThatAreNone() throws {
    for text in [
      "", "2024-01-01", "2024-02-30T00:00:00.000Z", "2023-02-29T00:00:00.000Z", "2024-13-01T00:00:00.000Z",
      "2024-01-01T24:00:00.000Z", "2024-01-01T00:60:00.000Z", "2024-01-01T00:00:00.000+", "2024-01-01 00:00:00.000Z",
      "2024-01-01T00:00:00.00xZ", "24-001-01T00:00:00.000Z",
    ] { #expect(Date(sqlText: text) == nil, "\(text)") }
    let error = #expect(throws: SQLError.self) {
      try database.read { db in
        try db.withStatement("SELECT ?" as StaticString) { try $0.bind(Date(timeIntervalSince1970: 1e15), at: 1) }
      }
    }
    #expect(error?.code == .typeMismatch)
  }

  @Test("UUIDs convert to lower-case text and back") func uuids() throws {
    for _ in 0..<500 {
      let uuid = UUID()
      #expect(try roundTrip(uuid) == uuid)
      #expect(uuid.sqlText == uuid.uuidString.lowercased())
      #expect(UUID(sqlText: uuid.uuidString) == uuid)
    }
    for text in ["", "x", "g0000000-0000-0000-0000-000000000000", "000000000000-0000-0000-0000-0000000000"] {
      #expect(UUID(sqlText: text) == nil)
    }
  }

  @Test("Doubles keep every bit, and NaN and infinity are refused") func doublesToTheLastBit() throws {
    var generator = Seeded(testSeed)
    let random = (0..<2000).map { _ in Double(bitPattern: generator.next()) }.filter(\.isFinite)
    for value in random + [0, 0.1, -0.1, .greatestFiniteMagnitude, .leastNonzeroMagnitude] {
      #expect(try roundTrip(value)?.bitPattern == value.bitPattern, "seed \(testSeed), value \(value)")
      #expect(Double("\(value)")?.bitPattern == value.bitPattern)
    }
    for value in [Double.nan, .infinity, -.infinity] {
      let error = #expect(throws: SQLError.self) { try roundTrip(value) }
      #expect(error?.code == .typeMismatch)
    }
  }

  @Test("Integers keep 64 bits, and narrowing overflow is refused") func integers() throws {
    for value in [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max] { #expect(try roundTrip(value) == value) }
    let error = #expect(throws: SQLError.self) {
      try database.read { try $0.fetchOne("SELECT \(Int64.max)", as: Int32.self) }
    }
    #expect(error?.code == .typeMismatch)
  }

  @Test("Text and bytes are stored unchanged") func textAndBytes() throws {
    for text in ["", "a", "nul\0inside", "👩🏽‍🚒 ß é", String(repeating: "x", count: 1 << 20)] {
      #expect(try roundTrip(text) == text)
      #expect(try roundTrip(String?.some(text)) == text)
    }
    for bytes in [[], [0], [255, 0, 1], [UInt8](repeating: 7, count: 1 << 20)] as [[UInt8]] {
      #expect(try roundTrip(bytes) == bytes)
      #expect(try roundTrip(Data(bytes)) == Data(bytes))
    }
    #expect(try database.read { try $0.fetchOne("SELECT typeof(\([UInt8]()))", as: String.self) } == "blob")
  }

  @Test("Other value types convert in both directions and refuse other types") func theRest() throws {
    #expect(try roundTrip(true) == true)
    #expect(try roundTrip(RoomStatus.done) == .done)
    #expect(try roundTrip(CalendarDay(year: 2024, month: 2, day: 29)) == CalendarDay("2024-02-29"))
    #expect(try roundTrip(try JSONText(encoding: ["b": 1, "a": 2])).text == #"{"a":2,"b":1}"#)
    #expect(try roundTrip(Int64?.none) == .some(nil))
    for (sql, type) in [("SELECT 2", Bool.self), ("SELECT 'x'", RoomStatus.self), ("SELECT 1", String.self)]
      as [(SQL, any SQLValue.Type)]
    {
      let error = #expect(throws: SQLError.self) {
        func read<V: SQLValue>(_ type: V.Type) throws { _ = try database.read { try $0.fetchOne(sql, as: type) } }
        try read(type)
      }
      #expect(error?.code == .typeMismatch)
    }
  }
}

extension Optional where Wrapped == JSONText {
  fileprivate var text: String? { self?.text }
}
