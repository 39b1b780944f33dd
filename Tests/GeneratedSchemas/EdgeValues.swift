import CipherSQL

/// Values at the limits of SQLite's types.
package enum EdgeValues {
  package static let integers: [SQLArgument] =
    [Int64.min, Int64.min + 1, -9_007_199_254_740_993, -1, 0, 1, 9_007_199_254_740_993, Int64.max].map { .integer($0) }
    + [.null]
  package static let reals: [SQLArgument] =
    [
      Double.leastNonzeroMagnitude, Double.leastNormalMagnitude, -Double.greatestFiniteMagnitude,
      Double.greatestFiniteMagnitude, -0.0, 0.1 + 0.2, 1e15, 1e16, 9.007199254740993e15, 1e-7, 5e21,
    ].map { .real($0) } + [.null]
  package static let texts: [SQLArgument] =
    [
      "", " ", "\u{0}", "a\u{0}b", String(repeating: "long ", count: 1_200), "\u{feff}\u{2028}\u{202e}",
      "\u{10ffff}é e\u{301}",
      "\"\\\n\r\t\u{1}\u{7f}", "null", "0123", "1e400",
    ].map { .text($0) } + [.null]
  package static let blobs: [SQLArgument] =
    [[], [0], [0xff, 0xfe, 0], Array(0...255), [UInt8](repeating: 7, count: 5_000)].map { .blob($0) } + [.null]
  package static let documents: [SQLArgument] =
    [
      "null", "0", "12345678901234567890", "{\"n\":-98765432109876543210}", "[1e30, 1.10, 100000000000000000001]", "{}",
      "[]",
      "\"\"", "{\"a\":{\"b\":[null,true,\"\\u00e9\"]}}", " [1 , 2] ",
    ].map { .text($0) } + [.null]

  static let flags: [SQLArgument] = [.integer(0), .integer(1)]
  static let timestamps: [SQLArgument] = [
    "0000-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "2024-02-29T12:00:00.001Z", "9999-12-31T23:59:59.999Z",
  ].map { .text($0) }
  static let days: [SQLArgument] = ["0000-01-01", "2024-02-29", "9999-12-31"].map { .text($0) }
  static let uuids: [SQLArgument] = [
    "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "01a1fd5d-9ed7-7000-b13d-4dfbc60ee8ac",
  ].map { .text($0) }
  static let sets: [SQLArgument] = ["[]", "[\"a\"]", "[\"b\",\"a\"]", "[1,\"1\",true]", "[\"c\",[],{}]"].map {
    .text($0)
  }
}
