/// Reads lines of bytes, in memory that grows with the longest line only.
final class LineReader {
  private let source: ByteSource
  private let limit: Int
  private let part: Int
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  /// The number of the line that was read last, counted from 1.
  private(set) var line = 0

  /// - Parameters:
  ///   - limit: the longest line, in bytes.
  ///   - part: bytes that are read at once.
  init(_ source: ByteSource, limit: Int = CSVReader.longestRecord, part: Int = 256 << 10) {
    (self.source, self.limit, self.part) = (source, limit, part)
  }

  /// The next line without its line break; nil at the end.
  /// - Throws: ``VaultError`` when the file cannot be read, or a line is above the limit.
  func next() throws -> ArraySlice<UInt8>? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: 0x0a) {
        defer { start = end + 1 }
        line += 1
        return trimmed(buffer[start..<end])
      }
      searched = buffer.count
      if isAtEnd {
        guard start < buffer.count else { return nil }
        defer { start = buffer.count }
        line += 1
        return trimmed(buffer[start...])
      }
      if start > 0 {
        buffer.removeSubrange(0..<start)
        searched -= start
        start = 0
      }
      guard buffer.count < limit else {
        throw VaultError(
          .refused, "\(source.name):\(line + 1): a line above \(limit >> 20) MiB",
          hint: "one object stands on each line")
      }
      try fill()
    }
  }

  private func fill() throws {
    let count = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: part))
    let read = try buffer.withUnsafeMutableBytes {
      try source.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[count...]))
    }
    buffer.removeLast(part - read)
    if read == 0 { isAtEnd = true }
  }

  private func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    line.last == 0x0d ? line.dropLast() : line
  }
}

extension ByteSource {
  /// The longest JSON document that is read as a whole, in bytes.
  public static let longestDocument = 256 << 20

  /// The rest as text.
  /// - Parameter limit: the most bytes that are read, so that a device without an end is no input.
  /// - Throws: ``VaultError`` with `refused` for a longer input, with `badValue` that names the line of the first byte that
  ///   is not UTF-8.
  public func readText(limit: Int) throws -> String {
    var bytes: [UInt8] = []
    let part = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { part.deallocate() }
    while true {
      let count = try read(into: part)
      if count == 0 { break }
      bytes.append(contentsOf: part[..<count])
      guard bytes.count <= limit else {
        throw VaultError(
          .refused, "\(name) has more than \(limit >> 20) MiB", hint: "check the path, or divide the file")
      }
    }
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    let line = bytes.split(separator: 0x0a, omittingEmptySubsequences: false).firstIndex {
      String(validating: $0, as: UTF8.self) == nil
    }
    throw VaultError(
      .badValue, "\(name):\((line ?? 0) + 1): not valid UTF-8", hint: "save the file as UTF-8")
  }
}
