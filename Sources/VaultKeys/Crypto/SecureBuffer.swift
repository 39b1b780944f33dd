import CSodium

/// Guarded memory that grows while a secret of unknown length is read. Every old copy is wiped.
struct SecureBuffer: ~Copyable {
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  private(set) var count = 0

  init() throws(KeyError) {
    capacity = 512
    memory = try SecureBuffer.allocate(capacity)
  }

  deinit { sodium_free(memory) }

  private static func allocate(_ capacity: Int) throws(KeyError) -> UnsafeMutableRawPointer {
    guard Sodium.isReady, let memory = sodium_malloc(capacity) else { throw .outOfMemory("a secret") }
    return memory
  }

  var last: UInt8? { count == 0 ? nil : memory.load(fromByteOffset: count - 1, as: UInt8.self) }

  /// Makes room for at least one more byte.
  mutating func reserve() throws(KeyError) {
    guard count == capacity else { return }
    let larger = try SecureBuffer.allocate(capacity * 2)
    larger.copyMemory(from: memory, byteCount: count)
    sodium_free(memory)
    memory = larger
    capacity *= 2
  }

  /// The free space after the last byte, valid until the next change.
  var freeSpace: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: memory + count, count: capacity - count)
  }

  mutating func grow(by added: Int) { count += added }

  mutating func dropLast() { count -= 1 }

  /// Returns the bytes in a buffer of exactly their length.
  consuming func finish() throws(KeyError) -> SecureBytes {
    try SecureBytes(copying: UnsafeRawBufferPointer(start: memory, count: count))
  }
}
