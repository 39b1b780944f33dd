import CPostgres

/// The rows of a statement.
final class PostgresResult {
  private let result: OpaquePointer

  init(_ result: OpaquePointer) { self.result = result }

  deinit { PQclear(result) }

  /// The number of rows.
  var count: Int { Int(PQntuples(result)) }

  /// The number of rows that the statement changed.
  var changedCount: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

  /// Returns the values of a row.
  func row(_ index: Int) -> PostgresRow { PostgresRow(result: self, index: Int32(index)) }

  /// Returns a value of each row.
  func map<Value>(_ body: (PostgresRow) throws -> Value) rethrows -> [Value] {
    try (0..<count).map { try body(row($0)) }
  }

  /// Returns a value of the first row; `nil` without a row.
  func first<Value>(_ body: (PostgresRow) throws -> Value) rethrows -> Value? {
    count == 0 ? nil : try body(row(0))
  }

  fileprivate func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer? {
    guard PQgetisnull(result, row, column) == 0 else { return nil }
    return UnsafeRawBufferPointer(
      start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
  }
}

/// A row of a result, in PostgreSQL's binary format. A NULL counts as zero, `false` or an empty text unless the value is
/// optional.
struct PostgresRow {
  fileprivate let result: PostgresResult
  fileprivate let index: Int32

  func integer(_ column: Int) -> Int64 { optionalInteger(column) ?? 0 }

  func optionalInteger(_ column: Int) -> Int64? {
    result.bytes(index, Int32(column)).map { $0.reduce(0) { $0 << 8 | Int64($1) } }
  }

  func flag(_ column: Int) -> Bool { result.bytes(index, Int32(column))?.first == 1 }

  func text(_ column: Int) -> String { optionalText(column) ?? "" }

  func optionalText(_ column: Int) -> String? {
    result.bytes(index, Int32(column)).map { String(decoding: $0, as: UTF8.self) }
  }

  func bytes(_ column: Int) -> [UInt8] { result.bytes(index, Int32(column)).map { Array($0) } ?? [] }

  /// Returns an array of texts.
  func texts(_ column: Int) -> [String] {
    guard let bytes = result.bytes(index, Int32(column)) else { return [] }
    func number(_ place: Int) -> Int {
      Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int32.self)))
    }
    // Dimensions, NULLs, type, size and first index: 20 bytes.
    guard bytes.count >= 20, number(0) == 1 else { return [] }
    var place = 20
    return (0..<number(12)).map { _ in
      let length = max(number(place), 0)
      defer { place += 4 + length }
      return String(decoding: bytes[place + 4..<place + 4 + length], as: UTF8.self)
    }
  }
}

/// A failure of the database.
struct PostgresError: Error, CustomStringConvertible {
  /// The five characters by which PostgreSQL classifies a failure; `nil` if the connection failed.
  let sqlState: String?
  /// The failure, without values.
  let message: String

  var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }

  /// Whether the connection is lost, or the server ends or begins. Whether the last commit took effect is unknown then.
  var isLostConnection: Bool {
    guard let sqlState else { return true }
    // 57P01 to 57P05: the server stops, has crashed, starts, or the database was dropped. 25006: the server has become
    // a standby.
    return ["08", "57P", "25006"].contains { sqlState.hasPrefix($0) }
  }

  /// Whether the transaction may succeed when it is repeated: serialization failure, deadlock, too many connections.
  var isRepeatable: Bool { isLostConnection || ["40001", "40P01", "53300"].contains(sqlState) }

  /// Whether a lock or a statement took too long.
  var isTimeout: Bool { ["55P03", "57014"].contains(sqlState) }

  /// Whether the disk or the memory of the database is full.
  var isOutOfSpace: Bool { sqlState?.hasPrefix("53") == true }
}
