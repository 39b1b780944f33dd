import CommandLineKit
import Foundation
import TestSupport
import Testing

@Suite("JSON")
struct JSONWriterTests {
  private func text(pretty: Bool = false, _ body: (inout JSONWriter) throws -> Void) rethrows -> String {
    var json = JSONWriter(pretty: pretty)
    try body(&json)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  private func status(_ json: inout JSONWriter) throws {
    json.beginObject()
    json.member("pending", 3)
    json.member("lastSync", String?.none)
    json.key("rows")
    json.beginArray()
    try json.value(21.0)
    json.beginObject()
    json.member("isDirty", true)
    json.endObject()
    json.beginArray()
    json.endArray()
    json.endArray()
    json.key("none")
    json.beginObject()
    json.endObject()
    json.endObject()
    json.endDocument()
  }

  @Test("JSON for programs is compact") func isCompactForPrograms() throws {
    #expect(
      try text(status) == #"{"pending":3,"lastSync":null,"rows":[21.0,{"isDirty":true},[]],"none":{}}"# + "\n")
  }

  @Test("JSON for a terminal is indented") func isPrettyForPeople() throws {
    #expect(
      try text(pretty: true, status) == """
        {
          "pending": 3,
          "lastSync": null,
          "rows": [
            21.0,
            {
              "isDirty": true
            },
            []
          ],
          "none": {}
        }

        """)
  }

  @Test(
    "Text is escaped where JSON or a terminal needs it",
    arguments: [
      ("plain", #""plain""#), ("", #""""#), ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\r\t\u{8}\u{C}", #""\n\r\t\b\f""#),
      ("\u{0}\u{1F}\u{1B}[2J", #""\u0000\u001f\u001b[2J""#),
      ("\u{7F}\u{80}\u{9B}\u{A0}", "\"\\u007f\\u0080\\u009b\u{A0}\""),
      ("a\u{2028}b\u{2029}", #""a\u2028b\u2029""#), ("\u{202E}\u{2066}\u{61C}", #""\u202e\u2066\u061c""#),
      ("é漢👩‍🚒\u{2027}\u{2030}\u{600}", "\"é漢👩‍🚒\u{2027}\u{2030}\u{600}\""),
    ])
  func strings(value: String, json: String) {
    #expect(text { $0.value(value) } == json)
    let bytes = Array(value.utf8)
    #expect(bytes.withUnsafeBufferPointer { utf8 in text { $0.value(utf8: utf8) } } == json)
  }

  @Test("Invalid UTF-8 is replaced by U+FFFD") func bytesThatAreNoTextAreReplaced() {
    let bytes: [UInt8] = [0x61, 0xE2, 0x80, 0x62, 0xFF, 0xC2]
    #expect(bytes.withUnsafeBufferPointer { utf8 in text { $0.value(utf8: utf8) } } == "\"a\u{FFFD}b\u{FFFD}\u{FFFD}\"")
  }

  @Test("Whole numbers keep their 64 bits", arguments: [Int64.min, -1, 0, 9, 10, 9_007_199_254_740_993, .max])
  func integers(number: Int64) {
    #expect(text { $0.value(number) } == "\(number)")
  }

  @Test(
    "Numbers are the shortest text that reads back the same",
    arguments: [
      (21.0, "21.0"), (0.1, "0.1"), (-0.0, "-0.0"), (1e300, "1e+300"), (5e-324, "5e-324"), (1e16, "1e+16"),
      (0.1 + 0.2, "0.30000000000000004"),
    ])
  func reals(number: Double, json: String) throws {
    #expect(try text { try $0.value(number) } == json)
  }

  @Test("NaN and infinity have no JSON", arguments: [Double.nan, .infinity, -.infinity])
  func noNumber(number: Double) {
    var json = JSONWriter()
    #expect(throws: JSONNumberError.self) { try json.value(number) }
    #expect(json.bytes.isEmpty)
  }

  @Test("Bytes are written as base64") func bytesAreBase64() {
    var random = Seeded(of: "base64")
    for count in 0..<200 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(text { $0.base64(bytes) } == "\"\(Data(bytes).base64EncodedString())\"", "seed \(random.seed)")
    }
  }

  @Test("Stored JSON is written unchanged") func storedJSONIsTakenAsItIs() {
    #expect(
      text {
        $0.beginArray(); $0.raw(#"{"a":1}"#); $0.raw("2"); $0.endArray()
      } == #"[{"a":1},2]"#)
  }

  @Test("A long document is drained in parts while the writer appends") func aLongDocumentIsWrittenWhileItGrows() throws
  {
    let nowhere = open("/dev/null", O_WRONLY)
    defer { close(nowhere) }
    let output = Output(descriptor: nowhere)
    var json = JSONWriter(for: output)
    var most = 0
    json.beginArray()
    for number in 0..<100_000 {
      json.value(number)
      try json.drain(to: output)
      most = max(most, json.bytes.count)
    }
    json.endArray()
    json.endDocument()
    try json.drain(to: output)
    try output.flush()
    #expect(json.bytes.isEmpty)
    #expect(most < 70_000)
  }

  @Test("Foundation reads the written values back") func foundationReadsBackWhatWasWritten() throws {
    var random = Seeded(of: "JSON read back")
    for round in 0..<500 {
      let value = RandomValue(&random, depth: 4)
      for pretty in [false, true] {
        var json = JSONWriter(pretty: pretty)
        try value.write(to: &json)
        let read = try JSONSerialization.jsonObject(with: Data(json.bytes), options: .fragmentsAllowed)
        #expect(
          value.equals(read), "seed \(random.seed), round \(round): \(String(decoding: json.bytes, as: UTF8.self))")
        var again = JSONWriter(pretty: pretty)
        try value.write(to: &again)
        #expect(json.bytes == again.bytes)
      }
    }
  }
}

/// A random JSON value.
private indirect enum RandomValue {
  case null, bool(Bool), integer(Int64), real(Double), text(String)
  case array([RandomValue]), object([(String, RandomValue)])

  init(_ random: inout Seeded, depth: Int) {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &random) {
    case 0: self = .null
    case 1: self = .bool(random.chance(0.5))
    case 2: self = .integer(Int64.random(in: Int64.min...Int64.max, using: &random) >> Int64(random.next() % 64))
    case 3:
      let bits = Double(bitPattern: random.next())
      self = .real(bits.isFinite ? bits : 0.5)
    case 4: self = .text(random.text(upTo: 12))
    case 5, 6: self = .array((0..<random.pick([0, 1, 2, 5])).map { _ in RandomValue(&random, depth: depth - 1) })
    default:
      self = .object(
        (0..<random.pick([0, 1, 2, 5])).map { ("\($0)" + random.text(), RandomValue(&random, depth: depth - 1)) })
    }
  }

  func write(to json: inout JSONWriter) throws {
    switch self {
    case .null: json.null()
    case .bool(let flag): json.value(flag)
    case .integer(let number): json.value(number)
    case .real(let number): try json.value(number)
    case .text(let text): json.value(text)
    case .array(let values):
      json.beginArray()
      for value in values { try value.write(to: &json) }
      json.endArray()
    case .object(let members):
      json.beginObject()
      for (key, value) in members {
        json.key(key)
        try value.write(to: &json)
      }
      json.endObject()
    }
  }

  func equals(_ other: Any) -> Bool {
    switch self {
    case .null: other is NSNull
    case .bool(let flag): other as? Bool == flag
    case .integer(let number): (other as? NSNumber)?.int64Value == number
    // Foundation reads many numbers as decimals, exactly, but `doubleValue` of those is off by a little.
    case .real(let number): (other as? NSNumber).flatMap { Double($0.stringValue) } == number
    case .text(let text): (other as? String).map { Array($0.unicodeScalars) } == Array(text.unicodeScalars)
    case .array(let values):
      (other as? [Any]).map { $0.count == values.count && zip(values, $0).allSatisfy { $0.equals($1) } } == true
    case .object(let members):
      (other as? [String: Any]).map { read in
        read.count == members.count && members.allSatisfy { key, value in read[key].map(value.equals) == true }
      } == true
    }
  }
}
