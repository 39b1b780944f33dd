import Platform

/// Reads secrets into guarded memory without a copy anywhere else.
enum SecretReader {
  /// Reads the first line, without its end.
  ///
  /// It reads byte by byte, because another program may read the following input.
  static func firstLine(of source: SecretSource) throws(KeyError) -> SecureBytes {
    let descriptor = try source.open()
    var line = try SecureBuffer()
    while try line.append(from: descriptor, named: source.name, atMost: 1) > 0 {
      if line.last == UInt8(ascii: "\n") {
        line.dropLast()
        if line.last == UInt8(ascii: "\r") { line.dropLast() }
        break
      }
      // Two more than a passphrase may have: the line may still end with CR LF. Validation refuses the rest.
      if line.count > UnlockSecret.maximumBytes + 2 { break }
    }
    return try line.finish()
  }

  /// Reads the whole source, up to `limit` bytes.
  static func whole(of source: SecretSource, limit: Int) throws(KeyError) -> SecureBytes {
    let descriptor = try source.open()
    var content = try SecureBuffer()
    while content.count < limit {
      if try content.append(from: descriptor, named: source.name, atMost: limit - content.count) == 0 { break }
    }
    return try content.finish()
  }
}

extension SecureBuffer {
  /// Reads directly into the guarded memory. Returns 0 at the end of the input.
  mutating func append(
    from descriptor: borrowing Descriptor, named name: String, atMost limit: Int
  ) throws(KeyError) -> Int {
    try reserve()
    do {
      let count = try descriptor.read(into: UnsafeMutableRawBufferPointer(rebasing: freeSpace.prefix(limit)))
      grow(by: count)
      return count
    } catch {
      throw .reading(name, error)
    }
  }
}
