/// Reads comma-separated values (RFC 4180) record by record. Memory use does not grow with the file. A quoted field
/// may contain commas, line breaks and doubled quotes. Lines end in LF or CRLF. A leading byte order mark and empty
/// lines are skipped.
///
/// This is not libcsv, the common C library: libcsv reports neither the line of an unclosed quote nor the position
/// of an invalid character. Users need both to correct a file.
package final class CSVReader {
  /// An error in the file, with its line.
  package struct Problem: Error {
    package let line: Int
    package let message: String
  }

  /// The maximum length of a record in bytes. A longer record is usually caused by an unclosed quote.
  package static let longestRecord = 16 << 20

  private let source: ByteSource
  private let separator: UInt8
  private let limit: Int
  private var buffer: UnsafeMutableBufferPointer<UInt8>
  private var start = 0
  private var end = 0
  private var isAtEnd = false
  private var nextLine = 1
  private var fields: [(start: Int, end: Int, isQuoted: Bool)] = []
  /// The line of the quote that is open at the end of the buffer; `nil` outside quotes.
  private var openQuoteLine: Int?
  /// The line on which the current record begins, counted from 1.
  private(set) var line = 1

  /// Creates a reader.
  /// - Parameters:
  ///   - limit: the maximum length of a record in bytes.
  ///   - capacity: the initial size of the buffer in bytes, at least three for a byte order mark.
  package init(
    _ source: ByteSource, separator: UInt8 = UInt8(ascii: ","), limit: Int = longestRecord, capacity: Int = 256 << 10
  ) {
    (self.source, self.separator, self.limit) = (source, separator, limit)
    buffer = .allocate(capacity: max(capacity, 3))
  }

  deinit { buffer.deallocate() }

  /// The number of fields in the current record.
  package var count: Int { fields.count }

  /// Returns the bytes of a field without its quotes. They are valid until the next record is read.
  func field(_ index: Int) -> UnsafeBufferPointer<UInt8> {
    let (start, end, _) = fields[index]
    return UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[start..<end])
  }

  /// Returns a field as text.
  package func text(_ index: Int) -> String { String(decoding: field(index), as: UTF8.self) }

  /// Reads the next record. Returns `false` at the end.
  /// - Throws: ``Problem`` for an invalid record, after which reading continues with the next record.
  ///   ``VaultError`` when the file cannot be read, a quote is never closed or a record exceeds the limit, after
  ///   which reading cannot continue.
  package func next() throws -> Bool {
    if nextLine == 1, start == 0, end == 0 { try skipByteOrderMark() }
    while true {
      line = nextLine
      if let hasRecord = try scan() {
        if !hasRecord { return false }
        if fields.count == 1, fields[0].start == fields[0].end, !fields[0].isQuoted { continue }
        return true
      }
      try refill()
    }
  }

  private func skipByteOrderMark() throws {
    try refill()
    if end >= 3, buffer[0] == 0xef, buffer[1] == 0xbb, buffer[2] == 0xbf { start = 3 }
  }

  /// Moves the unread bytes to the front of the buffer and appends more bytes. Doubles the buffer if one record fills
  /// it.
  private func refill() throws {
    guard let base = buffer.baseAddress else { return }
    if start > 0 {
      base.update(from: base + start, count: end - start)
      end -= start
      start = 0
    }
    if end == buffer.count {
      guard buffer.count < limit else {
        let what = "a record is larger than \(limit >> 20) MiB"
        throw openQuoteLine.map { neverClosed($0, what + ": ") } ?? refusal(what, line)
      }
      let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: buffer.count * 2)
      _ = larger.update(fromContentsOf: buffer[0..<end])
      buffer.deallocate()
      buffer = larger
    }
    let count = try source.read(
      into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[end...]))
    if count == 0 { isAtEnd = true }
    end += count
  }

  /// Returns an error that ends the reading, because the start of the next record is unknown.
  private func neverClosed(_ line: Int, _ prefix: String = "") -> VaultError {
    refusal(prefix + "the quote that opens here is never closed", line)
  }

  private func refusal(_ what: String, _ line: Int) -> VaultError {
    VaultError(.refused, "\(source.name):\(line): \(what)", hint: "quotes within a field must be doubled")
  }

  /// Parses the record at `start`. Returns `nil` when more bytes are needed, and `false` when there are no more
  /// records.
  ///
  /// Does not modify the buffer before the record is complete, so that the scan can be repeated.
  private func scan() throws -> Bool? {
    if start == end, isAtEnd { return false }
    fields.removeAll(keepingCapacity: true)
    var position = start
    var lines = 0
    var highBits: UInt8 = 0
    var hasDoubledQuote = false
    openQuoteLine = nil
    while true {
      // A field begins here.
      if position < end, buffer[position] == UInt8(ascii: "\"") {
        let opened = nextLine + lines
        let begin = position + 1
        position = begin
        while true {
          guard position < end else {
            if !isAtEnd {
              openQuoteLine = opened
              return nil
            }
            start = end
            throw neverClosed(opened)
          }
          let byte = buffer[position]
          if byte == UInt8(ascii: "\"") {
            guard position + 1 < end || isAtEnd else { return nil }
            if position + 1 < end, buffer[position + 1] == UInt8(ascii: "\"") {
              hasDoubledQuote = true
              position += 2
              continue
            }
            break
          }
          if byte == 0x0a { lines += 1 }
          highBits |= byte
          position += 1
        }
        fields.append((begin, position, true))
        position += 1
        guard position < end || isAtEnd else { return nil }
        if position < end, buffer[position] == 0x0d, position + 1 == end, !isAtEnd { return nil }
        if position < end, buffer[position] != separator, !isLineEnd(position) {
          guard skipLine(from: position, extra: lines) else { return nil }
          throw Problem(line: opened, message: "text after a closing quote; quotes in a field must be doubled")
        }
      } else {
        let begin = position
        while position < end {
          let byte = buffer[position]
          if byte == separator || byte == 0x0a { break }
          highBits |= byte
          position += 1
        }
        guard position < end || isAtEnd else { return nil }
        var close = position
        if position >= end || buffer[position] == 0x0a, close > begin, buffer[close - 1] == 0x0d { close -= 1 }
        fields.append((begin, close, false))
      }
      if position < end, buffer[position] == separator {
        position += 1
        guard position < end || isAtEnd else { return nil }
        continue
      }
      break
    }
    if position < end, buffer[position] == 0x0d { position += 1 }
    if position < end { position += 1 }
    nextLine += lines + 1
    start = position
    if hasDoubledQuote { removeDoubledQuotes() }
    if highBits & 0x80 != 0 { try checkCharacters() }
    return true
  }

  private func isLineEnd(_ position: Int) -> Bool {
    buffer[position] == 0x0a || buffer[position] == 0x0d && position + 1 < end && buffer[position + 1] == 0x0a
      || buffer[position] == 0x0d && position + 1 == end
  }

  /// Skips the rest of the line. Returns `false` when the end of the line is not in the buffer yet.
  private func skipLine(from position: Int, extra lines: Int) -> Bool {
    var position = position
    while position < end, buffer[position] != 0x0a { position += 1 }
    guard position < end || isAtEnd else { return false }
    start = min(position + 1, end)
    nextLine += lines + 1
    return true
  }

  private func removeDoubledQuotes() {
    for (index, field) in fields.enumerated() where field.isQuoted {
      var target = field.start
      var position = field.start
      while position < field.end {
        let byte = buffer[position]
        buffer[target] = byte
        target += 1
        position += byte == UInt8(ascii: "\"") ? 2 : 1
      }
      fields[index].end = target
    }
  }

  private func checkCharacters() throws {
    for (index, _) in fields.enumerated() where String(validating: field(index), as: UTF8.self) == nil {
      throw Problem(line: line, message: "field \(index + 1) is not valid UTF-8; save the file as UTF-8")
    }
  }
}

/// Writes cells of comma-separated values.
package enum CSVText {
  /// Returns a cell as RFC 4180 has it: in quotes if it contains a comma, a quote or a line break.
  package static func cell(_ text: String) -> String {
    let bytes = text.utf8
    guard bytes.contains(where: { [0x22, 0x2c, 0x0a, 0x0d].contains($0) }) else { return text }
    // By bytes: a quote and a combining character behind it are one Character.
    var quoted: [UInt8] = [0x22]
    quoted.reserveCapacity(bytes.count + 8)
    for byte in bytes {
      if byte == 0x22 { quoted.append(0x22) }
      quoted.append(byte)
    }
    quoted.append(0x22)
    return String(decoding: quoted, as: UTF8.self)
  }
}
