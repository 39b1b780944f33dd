import CipherSQL
import SchemaModel
import StoreSupport
import Testing

@testable import VaultStore

/// The values that other programs store, and the values of fields that they become.
@Suite struct SourceValueTests {
  private static let uuid = "0193d0a4-5f2e-7c31-9d0b-6a1b2c3d4e5f"
  private let entities: Entities

  init() throws { (_, entities) = try restorationDatabase() }

  /// Returns the value of a field, or the message of the refusal.
  private func converted(
    _ value: SQLArgument, _ type: String, _ field: String, times: NumericTimes? = nil, nullText: String? = nil
  ) throws -> (value: SQLArgument?, message: String?) {
    let column = try entities.entity(type).column(field)
    do {
      return (try SourceValue(times: times, nullText: nullText).argument(value, for: column), nil)
    } catch let problem as FieldProblem {
      return (nil, problem.message)
    }
  }

  @Test(
    "Texts of times without a zone are UTC, and other texts are refused with a valid one",
    arguments: [
      ("2024-02-29 23:59:59.999", "2024-02-29T23:59:59.999Z"), ("2024-02-29 23:59", "2024-02-29T23:59:00.000Z"),
      ("2024-02-29T23:59:59", "2024-02-29T23:59:59.000Z"), ("2024-02-29", "2024-02-29T00:00:00.000Z"),
      ("2024-02-29T01:00:00+02:00", "2024-02-28T23:00:00.000Z"), ("2024-02-29 01:00:00.1Z", "2024-02-29T01:00:00.100Z"),
      ("2023-02-29", nil), ("29.02.2024", nil), ("2024-02-29 24:00", nil), ("tomorrow", nil),
    ] as [(String, String?)])
  func textTimes(_ text: String, _ expected: String?) throws {
    let result = try converted(.text(text), "Project", "createdAt")
    #expect(result.value == expected.map(SQLArgument.text))
    #expect(expected != nil || result.message?.contains("2013-01-31T06:00:00+01:00 is valid") == true)
  }

  @Test(
    "Numbers are times only if their meaning is known",
    arguments: [
      (NumericTimes.unix, 0.25, "1970-01-01T00:00:00.250Z"), (.milliseconds, 1e12, "2001-09-09T01:46:40.000Z"),
      (.apple, -1.5, "2000-12-31T23:59:58.500Z"), (.julian, 2_440_588, "1970-01-01T12:00:00.000Z"), (nil, 0, nil),
      (.unix, 1e300, nil), (.apple, .infinity, nil), (.unix, -1e12, nil),
    ] as [(NumericTimes?, Double, String?)])
  func numericTimes(_ times: NumericTimes?, _ number: Double, _ expected: String?) throws {
    #expect(
      try converted(.real(number), "Project", "createdAt", times: times).value == expected.map(SQLArgument.text))
    let integer = Int64(exactly: number).map(SQLArgument.integer) ?? .real(number)
    #expect(try converted(integer, "Project", "createdAt", times: times).value == expected.map(SQLArgument.text))
  }

  @Test("UUIDs are texts in any case or 16 bytes") func uuids() throws {
    let bytes: [UInt8] = [
      0x01, 0x93, 0xd0, 0xa4, 0x5f, 0x2e, 0x7c, 0x31, 0x9d, 0x0b, 0x6a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f,
    ]
    for value: SQLArgument in [.blob(bytes), .text(Self.uuid), .text(Self.uuid.uppercased())] {
      #expect(try converted(value, "Room", "uuid").value == .text(Self.uuid))
    }
    for value: SQLArgument in [.blob([1]), .integer(5), .text("x")] {
      #expect(try converted(value, "Room", "uuid").message?.contains("or 16 bytes are valid") == true)
    }
  }

  @Test("Numbers, truth values, texts and words keep their meaning, and nothing is rounded or cut")
  func scalars() throws {
    let cases: [(SQLArgument, String, String, SQLArgument?)] = [
      (.integer(12), "Room", "squareFootage", .real(12)), (.text("1.5"), "Room", "squareFootage", .real(1.5)),
      (.text("0x10"), "Room", "squareFootage", nil), (.real(.infinity), "Room", "squareFootage", nil),
      (.integer(1), "Room", "isAccessible", .integer(1)), (.real(0), "Room", "isAccessible", .integer(0)),
      (.text("TRUE"), "Room", "isAccessible", .integer(1)), (.integer(2), "Room", "isAccessible", nil),
      (.real(0.5), "Room", "isAccessible", nil), (.text("active"), "Project", "status", .text("active")),
      (.text("Active"), "Project", "status", nil), (.integer(7), "Room", "title", .text("7")),
      (.real(0.1), "Room", "title", .text("0.1")), (.text(""), "Room", "title", .text("")),
      (.text(""), "Room", "squareFootage", .null), (.null, "Room", "title", .null),
      (.blob([65]), "Room", "title", nil), (.blob([65]), "Project", "status", nil),
    ]
    for (value, type, field, expected) in cases {
      #expect(try converted(value, type, field).value == expected, "\(value) as \(type).\(field)")
    }
    #expect(try converted(.text("n/a"), "Room", "title", nullText: "n/a").value == .null)
  }
}
