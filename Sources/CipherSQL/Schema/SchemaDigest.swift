import CSQLCipher
import CSodium

/// A digest of the results of queries or of schema files, by which a value that depends on them alone is found again.
///
/// It is BLAKE2b over the type, the length and the bytes of each value. Texts that only Unicode normalisation makes
/// equal have different digests, unlike keys of the type `String`.
package struct SchemaDigest: Hashable, Sendable {
  private let bytes: [UInt8]

  fileprivate init(of content: [UInt8]) {
    var digest = [UInt8](repeating: 0, count: 32)
    _ = crypto_generichash(&digest, digest.count, content, UInt64(content.count), nil, 0)
    bytes = digest
  }

  /// Creates a digest of schemas: their names, and the number, name and text of each file.
  package init(of schemas: [Schema]) {
    var content: [UInt8] = []
    func append(_ text: String) {
      Self.append(UInt64(text.utf8.count), to: &content)
      content += text.utf8
    }
    for schema in schemas {
      append(schema.name)
      Self.append(UInt64(schema.migrations.count), to: &content)
      for file in schema.migrations {
        Self.append(UInt64(bitPattern: Int64(file.version)), to: &content)
        append(file.name)
        append(file.sql)
      }
    }
    self.init(of: content)
  }

  fileprivate static func append(_ number: UInt64, to content: inout [UInt8]) {
    withUnsafeBytes(of: number.littleEndian) { content.append(contentsOf: $0) }
  }

  fileprivate func write(to content: inout [UInt8]) { content += bytes }
}

extension Connection {
  /// Returns a digest of the rows of queries, in their order.
  /// - Parameter earlier: a digest of other content, which the result covers too.
  package final func digest(of queries: [SQL], following earlier: SchemaDigest? = nil) throws -> SchemaDigest {
    var content: [UInt8] = []
    earlier?.write(to: &content)
    for query in queries {
      try forEach(query) { row in
        SchemaDigest.append(UInt64(row.count), to: &content)
        for index in 0..<row.count { Self.append(row, index, to: &content) }
      }
      // No row has zero columns, so this ends the rows of a query.
      SchemaDigest.append(0 as UInt64, to: &content)
    }
    return SchemaDigest(of: content)
  }

  private static func append(_ row: borrowing Row, _ index: Int32, to content: inout [UInt8]) {
    let type = sqlite3_column_type(row.handle, index)
    content.append(UInt8(truncatingIfNeeded: type))
    switch type {
    case SQLITE_INTEGER: SchemaDigest.append(UInt64(bitPattern: sqlite3_column_int64(row.handle, index)), to: &content)
    case SQLITE_FLOAT: SchemaDigest.append(sqlite3_column_double(row.handle, index).bitPattern, to: &content)
    case SQLITE_NULL: break
    default:
      let start = sqlite3_column_blob(row.handle, index)
      let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row.handle, index)))
      SchemaDigest.append(UInt64(bytes.count), to: &content)
      content.append(contentsOf: bytes)
    }
  }
}
