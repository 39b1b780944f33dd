/// Parses and formats byte counts such as `1500000`, `500MB`, `2GB` and `4GiB`.
package enum ByteCount {
  private static let units: [(name: String, bytes: Int64)] = [
    ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000),
    ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
  ]

  /// Returns the byte count, or `nil` for invalid text and for more than `Int64.max` bytes.
  package static func parse(_ text: String) -> Int64? {
    let word = text.filter { $0 != " " }
    let unit = units.filter { word.lowercased().hasSuffix($0.name.lowercased()) }.max { $0.name.count < $1.name.count }
    let digits = word.dropLast(unit?.name.count ?? 0)
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits) else {
      return nil
    }
    let (bytes, isTooMuch) = number.multipliedReportingOverflow(by: unit?.bytes ?? 1)
    return isTooMuch ? nil : bytes
  }

  /// Returns the shortest text that represents the exact count.
  package static func text(_ bytes: Int64) -> String {
    guard bytes > 0, let unit = units.first(where: { bytes % $0.bytes == 0 }), unit.name != "B" else {
      return String(bytes)
    }
    let binary = units.filter { $0.name.hasSuffix("iB") && bytes % $0.bytes == 0 }.map {
      "\(bytes / $0.bytes)\($0.name)"
    }
    return ([("\(bytes / unit.bytes)\(unit.name)")] + binary).min { $0.count < $1.count } ?? String(bytes)
  }
}
