import Foundation
import Testing

@testable import Platform

@Suite struct UUIDTextTests {
  @Test("A UUID reads back from its text")
  func roundTrip() {
    let uuid = UUID()
    #expect(UUIDText.text(uuid) == uuid.uuidString.lowercased())
    #expect(UUIDText.parse(uuid.uuidString) == uuid)
    #expect(UUIDText.isCanonical(UUIDText.text(uuid)))
  }

  @Test(
    "Only lower-case UUIDs with hyphens are canonical",
    arguments: [
      "", "6F0F3C1E-97C4-4F3E-8A51-0F2B8C1D2E3F", "6f0f3c1e97c44f3e8a510f2b8c1d2e3f",
      "6f0f3c1e-97c4-4f3e-8a51-0f2b8c1d2e3",
      "6f0f3c1e-97c4-4f3e-8a51-0f2b8c1d2e3g",
    ])
  func refusing(text: String) { #expect(!UUIDText.isCanonical(text)) }

  @Test("A version 4 UUID takes its bits from the source and sets version and variant")
  func version4() {
    let ones = RandomSource { $0.initializeMemory(as: UInt8.self, repeating: 0xFF) }
    #expect(UUIDText.text(.version4(random: ones)) == "ffffffff-ffff-4fff-bfff-ffffffffffff")
  }

  @Test("Hexadecimal digits are lower case, and each byte has two")
  func hexText() { #expect(HexText.text([0, 10, 255]) == "000aff") }
}
