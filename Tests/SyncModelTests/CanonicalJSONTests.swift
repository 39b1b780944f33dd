import Testing

@testable import SyncModel

/// The canonical form: the vectors of RFC 8785, and its laws.
@Suite struct CanonicalJSONTests {
  /// RFC 8785, section 3.2.2 to 3.2.4.
  @Test("The canonical form equals the sample of RFC 8785") func theSampleOfTheRFC() throws {
    let value = try SyncValue(
      parsing: #"""
        {
          "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
          "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
          "literals": [null, true, false]
        }
        """#)
    #expect(
      value.canonicalJSON == #"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#
        + #""string":"€$\u000f\nA'B\"\\\\\"/"}"#)
  }

  /// RFC 8785, section 3.2.3.
  @Test("Names are sorted as RFC 8785 sorts them") func theOrderOfNamesOfTheRFC() throws {
    let value = try SyncValue(
      parsing: #"""
        {"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
         "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}
        """#)
    guard case .object(let object) = value else { return #expect(Bool(false)) }
    #expect(
      object.members.map(\.value) == [
        "Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign",
        "Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh",
      ])
  }

  /// RFC 8785, appendix B.
  @Test(
    "Numbers are written as RFC 8785 writes them",
    arguments: [
      (0x0000_0000_0000_0000, "0"),
      (0x8000_0000_0000_0000, "0"),
      (0x0000_0000_0000_0001, "5e-324"),
      (0x8000_0000_0000_0001, "-5e-324"),
      (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
      (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
      (0x4340_0000_0000_0000, "9007199254740992"),
      (0xc340_0000_0000_0000, "-9007199254740992"),
      (0x4430_0000_0000_0000, "295147905179352830000"),
      (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
      (0x44b5_2d02_c7e1_4af6, "1e+23"),
      (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
      (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
      (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
      (0x444b_1ae4_d6e2_ef50, "1e+21"),
      (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
      (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
      (0x41b3_de43_5555_5553, "333333333.3333332"),
      (0x41b3_de43_5555_5554, "333333333.33333325"),
      (0x41b3_de43_5555_5555, "333333333.3333333"),
      (0x41b3_de43_5555_5556, "333333333.3333334"),
      (0x41b3_de43_5555_5557, "333333333.33333343"),
      (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
      (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] as [(UInt64, String)])
  func theNumbersOfTheRFC(bits: UInt64, text: String) {
    #expect(SyncValue.number(Double(bitPattern: bits)).canonicalJSON == text)
  }

  @Test("NaN and infinity are not values") func numbersThatAreNoneCannotBeMade() {
    #expect(SyncValue(real: Double(bitPattern: 0x7fff_ffff_ffff_ffff)) == nil)
    #expect(SyncValue(real: Double(bitPattern: 0x7ff0_0000_0000_0000)) == nil)
  }

  @Test("Integers beyond the precision of a double keep their digits") func integersBeyondADoubleKeepTheirDigits() {
    #expect(SyncValue.integer(.max).canonicalJSON == "9223372036854775807")
    #expect(SyncValue.integer(9_007_199_254_740_993).digest != SyncValue.integer(9_007_199_254_740_992).digest)
  }

  @Test("The digest equals that of sha256sum") func theDigestIsTheOneOfSha256sum() {
    #expect(
      SyncValue.object(["b": 1, "a": .null]).digest  // printf '{"a":null,"b":1}' | sha256sum
        == "c0bf82ad036cb0a5a03d6759c1b7b8b1f70a39b32dd96ed3977c7f2831ee3b56")
  }

  @Test("The canonical form does not depend on the order of names") func theFormIsTheSameHoweverNamesAreShuffled()
    throws
  {
    var random = Randomness()
    for round in 0..<500 {
      let members = (0..<8).map { _ in (random.text(), random.value(depth: 2)) }
      let object = SyncObject(members)
      let shuffled = object.members.shuffled(using: &random)
      let text = "{" + shuffled.map { "\(SyncValue.text($0.name).json): \($0.value.json)" }.joined(separator: ",") + "}"
      let read = try SyncValue(parsing: text)
      #expect(read.canonicalJSON == SyncValue.object(object).canonicalJSON, "seed \(random.seed), round \(round)")
      #expect(read.digest == SyncValue.object(object).digest)
      #expect(object.names == object.names.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) })
    }
  }

  @Test("Two values are equal if and only if their canonical forms are equal")
  func equalValuesAreThoseWithOneCanonicalForm() throws {
    var random = Randomness()
    for _ in 0..<2000 {
      let value = random.value()
      let other = random.chance(0.5) ? random.value(depth: 0) : try SyncValue(parsing: value.canonicalJSON)
      // By bytes: texts whose characters are written differently, such as e with an accent, are equal for `String`.
      let isSame = value.canonicalJSON.utf8.elementsEqual(other.canonicalJSON.utf8)
      #expect((value == other) == isSame, "seed \(random.seed): \(value.json)")
    }
  }

  @Test("Canonicalizing a canonical form changes nothing") func theCanonicalFormOfTheCanonicalFormIsItself() throws {
    var random = Randomness()
    for _ in 0..<2000 {
      let text = random.value().canonicalJSON
      #expect(try SyncValue(parsing: text).canonicalJSON == text, "seed \(random.seed)")
    }
  }
}
