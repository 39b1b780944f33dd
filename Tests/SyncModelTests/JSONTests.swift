import Foundation
import Testing

@testable import SyncModel

/// Parsing and writing JSON: the preserved values, and the byte of each refusal.
@Suite struct JSONTests {
  @Test("Integers keep 64 bits") func integersKeepSixtyFourBits() throws {
    for integer in [Int64.min, -9_007_199_254_740_993, -1, 0, 9_007_199_254_740_993, .max] {
      let value = try SyncValue(parsing: "\(integer)")
      guard case .integer(integer) = value else { return #expect(Bool(false), "\(value)") }
      #expect(value.json == "\(integer)")
    }
  }

  @Test("A REAL stays a REAL") func aRealStaysAReal() throws {
    for (text, written) in [
      ("1.0", "1.0"), ("1e2", "100.0"), ("0.1", "0.1"), ("1E22", "1e+22"), ("5e-324", "5e-324"), ("-0.0", "-0.0"),
      ("100000000000000000000", "1e+20"),
    ] {
      let value = try SyncValue(parsing: text)
      guard case .real = value else { return #expect(Bool(false), "\(text)") }
      #expect(value.json == written)
    }
  }

  @Test("1 and 1.0 are equal") func oneAndOnePointZeroAreEqual() {
    #expect(SyncValue.integer(1) == .number(1))
    #expect(SyncValue.integer(0) == .number(-0.0))
    #expect(SyncValue.integer(9_007_199_254_740_993) != .number(9_007_199_254_740_992))
    #expect(SyncValue.integer(1) != "1")
    #expect(SyncValue.null != false)
  }

  @Test("Two Unicode spellings of a letter are two texts") func twoSpellingsOfALetterAreTwoTexts() throws {
    #expect(SyncValue.text("é") != .text("e\u{301}"))
    let object = try SyncValue(parsing: "{\"é\":1,\"e\u{301}\":2}")
    guard case .object(let members) = object else { return #expect(Bool(false)) }
    #expect(members.count == 2)
    #expect(members["é"] == 1)
    #expect(members["e\u{301}"] == 2)
  }

  @Test("Null is a value, and an absent member is none") func nullIsAValueAndAbsentIsNot() throws {
    var object: SyncObject = ["a": .null]
    #expect(object["a"] == .null)
    #expect(object["b"] == nil)
    #expect(SyncValue.object(object).json == #"{"a":null}"#)
    object["a"] = nil
    #expect(object.isEmpty)
  }

  @Test(
    "Invalid JSON is refused with its code and byte offset",
    arguments: [
      ("", SyncModelError.Code.unexpectedEnd, 0),
      ("  ", .unexpectedEnd, 2),
      ("[1,2", .unexpectedEnd, 4),
      ("\"ab", .unexpectedEnd, 3),
      ("tru", .unexpectedEnd, 3),
      ("-", .unexpectedEnd, 1),
      ("1e", .unexpectedEnd, 2),
      ("nul!", .syntax, 3),
      ("NaN", .syntax, 0),
      ("[-Infinity]", .syntax, 2),
      ("[1,]", .syntax, 3),
      ("[1 2]", .syntax, 3),
      ("{\"a\" 1}", .syntax, 5),
      ("{a:1}", .syntax, 1),
      ("[1.]", .syntax, 3),
      ("[.5]", .syntax, 1),
      ("[+1]", .syntax, 1),
      ("[01]", .syntax, 2),
      ("[1e+]", .syntax, 4),
      ("\"\\x\"", .syntax, 2),
      ("\"\\u12G4\"", .syntax, 5),
      ("\"a\nb\"", .syntax, 2),
      ("\u{FEFF}1", .syntax, 0),
      ("1 2", .trailingText, 2),
      ("{} x", .trailingText, 3),
      ("1\u{0}", .trailingText, 1),
      (#"{"a":1,"b":2,"a":3}"#, .duplicateName, 13),
      (#"{"a":1,"\u0061":3}"#, .duplicateName, 7),
      (#"["\ud800"]"#, .loneSurrogate, 2),
      (#"["\ud800\n"]"#, .loneSurrogate, 2),
      (#"["x\udc00"]"#, .loneSurrogate, 3),
      (#"["\ud800\ud800"]"#, .loneSurrogate, 2),
      ("[1e9999999999]", .numberOutOfRange, 1),
      ("[-1.5e-9999999999]", .numberOutOfRange, 1),
    ])
  func whatIsNotJSONIsRefusedAtItsByte(text: String, code: SyncModelError.Code, offset: Int) {
    let error = #expect(throws: SyncModelError.self) { try SyncValue(parsing: text) }
    #expect(error?.code == code)
    #expect(error?.byteOffset == offset)
  }

  @Test(
    "Invalid UTF-8 is refused with its byte offset",
    arguments: [
      ([0x22, 0x61, 0xFF, 0x22], 2),  // never a byte of UTF-8
      ([0x22, 0xC3, 0xA9, 0xC0, 0xAF, 0x22], 3),  // a slash, written too long
      ([0x22, 0xED, 0xA0, 0x80, 0x22], 1),  // a surrogate
      ([0x22, 0x61, 0xE2, 0x82, 0x22], 2),  // cut short
      ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 1),  // beyond U+10FFFF
    ] as [([UInt8], Int)])
  func whatIsNotUTF8IsRefusedAtItsByte(bytes: [UInt8], offset: Int) {
    let error = #expect(throws: SyncModelError.self) { try SyncValue(parsing: bytes) }
    #expect(error?.code == .invalidUTF8)
    #expect(error?.byteOffset == offset)
  }

  @Test(
    "A number that neither 64 bits nor a double hold is kept as it is written",
    arguments: [
      ("9223372036854775808", "9223372036854775808"), ("-9223372036854775809", "-9223372036854775809"),
      ("12345678901234567890123", "1.2345678901234567890123e+22"), ("1e400", "1e+400"), ("-1E-400", "-1e-400"),
      ("0.12345678901234567", "0.12345678901234566"), ("4e-324", "5e-324"),
      ("9007199254740993.00", "9007199254740992"), ("900719925474099300.1", "900719925474099300.1"),
      ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
    ])
  func aNumberThatNoDoubleHolds(text: String, canonical: String) throws {
    let value = try SyncValue(parsing: "[\(text)]")
    guard case .array(let elements) = value, case .number? = elements.first else {
      Issue.record("\(text) is read as \(value)")
      return
    }
    #expect(value.json == "[\(text)]" && value.canonicalJSON == "[\(canonical)]")
    // One number has one canonical text, however it is written.
    #expect(try SyncValue(parsing: value.canonicalJSON) == value)
    #expect(try SyncValue(parsing: value.canonicalJSON).canonicalJSON == value.canonicalJSON)
  }

  @Test(
    "A number with the digits of a double is that double",
    arguments: [
      ("0.10000000000000001", 0.1), ("333333333.33333329", 333333333.3333333), ("100000000000000000000", 1e20),
      ("1.50", 1.5), ("0e400", 0), ("0.30000000000000004", 0.1 + 0.2), ("5e-324", 5e-324),
      ("4.9406564584124654e-324", 5e-324),
      ("1.7976931348623157e308", .greatestFiniteMagnitude), ("9007199254740992.0", 9_007_199_254_740_992),
    ])
  func aNumberThatADoubleHolds(text: String, number: Double) throws {
    #expect(try SyncValue(parsing: text) == SyncValue(real: number))
  }

  @Test("Every double is read back from its shortest and from its 17-digit text")
  func doublesInBothForms() throws {
    var random = Randomness()
    for _ in 0..<2000 {
      let number = Double(bitPattern: random.next())
      guard number.isFinite, let value = SyncValue(real: number) else { continue }
      for text in ["\(number)", String(format: "%.16e", number), value.canonicalJSON] {
        let read = try SyncValue(parsing: text)
        #expect(read == value && read.canonicalJSON == value.canonicalJSON, "\(text)")
      }
    }
  }

  @Test("A text may be nested 72 deep, which leaves 8 for the message around a value")
  func depthOfATextIsLimited() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(try SyncValue(parsing: nested(72)).json == nested(72))
    #expect(try SyncValue(parsing: nested(64)).depth == SyncValue.greatestDepth)
    let error = #expect(throws: SyncModelError.self) { try SyncValue(parsing: nested(73)) }
    #expect(error?.code == .tooDeep)
    #expect(error?.byteOffset == 72)
    #expect(throws: SyncModelError.self) { try SyncValue(parsing: nested(1_000_000)) }
    // Depth, not number.
    _ = try SyncValue(parsing: "[" + Array(repeating: "[[]]", count: 100).joined(separator: ",") + "]")
  }

  @Test("A parse error does not contain values") func anErrorNamesNoValue() {
    let error = #expect(throws: SyncModelError.self) { try SyncValue(parsing: "{\"secret\":1,\"secret\":2}") }
    #expect(error.map { "\($0)" } == "a name appears twice in one JSON object at byte 12")
  }

  @Test("A written value reads back as the same value") func whatIsWrittenReadsBackAsTheSame() throws {
    var random = Randomness()
    for round in 0..<2000 {
      let value = random.value()
      let back = try SyncValue(parsing: value.json)
      #expect(back == value, "seed \(random.seed), round \(round): \(value.json)")
      #expect(back.json == value.json, "seed \(random.seed), round \(round)")
      // 1 and 1.0 are equal, yet a REAL must not come back as an INTEGER.
      #expect("\(back)" == "\(value)", "seed \(random.seed), round \(round)")
    }
  }

  @Test("Random bytes either parse or throw an error with an offset inside the input") func randomBytesNeverTrap() {
    var random = Randomness()
    let alphabet = Array("{}[]\",:\\u0123dDeE+-.ntf \u{301}".utf8) + [0, 0xFF, 0xC3]
    for _ in 0..<5000 {
      let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in random.pick(alphabet) }
      do {
        let value = try SyncValue(parsing: bytes)
        #expect(throws: Never.self) { try SyncValue(parsing: value.json) }
      } catch {
        #expect((0...bytes.count).contains(error.byteOffset ?? -1), "seed \(random.seed): \(bytes)")
      }
    }
  }
}
