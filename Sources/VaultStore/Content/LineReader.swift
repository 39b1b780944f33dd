/// Reads lines of bytes. Memory use depends only on the longest line.
final class LineReader {
  private let source: ByteSource
  private let limit: Int
  private let part: Int
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  /// The number of the last line read, counted from 1.
  private(set) var line = 0

  /// Creates a reader.
  /// - Parameters:
  ///   - limit: the maximum length of a line in bytes.
  ///   - part: the number of bytes per read.
  init(_ source: ByteSource, limit: Int = CSVReader.longestRecord, part: Int = 256 << 10) {
    (self.source, self.limit, self.part) = (source, limit, part)
  }

  /// Returns the next line without its line break, or `nil` at the end.
  /// - Throws: ``VaultError`` when the file cannot be read or a line exceeds the limit.
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
          .refused, "\(source.name):\(line + 1): the line is larger than \(limit >> 20) MiB",
          hint: "write one object on each line")
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
  /// The maximum size in bytes of a JSON document that is read as a whole.
  public static let longestDocument = 256 << 20

  /// Reads the rest of the input as text.
  /// - Parameter limit: the maximum number of bytes, which protects against endless devices.
  /// - Throws: ``VaultError`` with `refused` for a longer input, or with `badValue`, which names the line of the
  ///   first byte that is not UTF-8.
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
          .refused, "\(name) is larger than \(limit >> 20) MiB", hint: "check the path, or split the file")
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
