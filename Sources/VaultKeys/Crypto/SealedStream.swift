import CSodium

/// Encrypts a sequence of messages so that a changed, missing, repeated, reordered or truncated message is detected:
/// libsodium's secretstream, XChaCha20-Poly1305. The state, which contains key material, is in guarded memory.
///
/// For one thread at a time.
public final class SealingStream {
  /// The number of bytes by which a sealed message is longer.
  public static let overhead = Int(crypto_secretstream_xchacha20poly1305_ABYTES)
  /// The length of ``header``.
  public static let headerCount = Int(crypto_secretstream_xchacha20poly1305_HEADERBYTES)

  /// The random header, which is not secret. The reader needs it first.
  public let header: [UInt8]
  private let state: StreamState

  /// Begins a stream.
  /// - Parameter key: 32 bytes. Several streams may use the same key.
  /// - Throws: ``KeyError`` `outOfMemory`.
  public init(key: SecureBytes) throws(KeyError) {
    precondition(key.count == 32)
    let state = try StreamState()
    var header = [UInt8](repeating: 0, count: Self.headerCount)
    _ = key.withPointer { crypto_secretstream_xchacha20poly1305_init_push(state.pointer, &header, $0) }
    (self.state, self.header) = (state, header)
  }

  /// Seals the next message.
  /// - Parameters:
  ///   - sealed: receives ``overhead`` more bytes than the message has.
  ///   - associated: unencrypted bytes that are bound to this message. The reader must pass the same bytes.
  ///   - isFinal: `true` for the last message. A stream without a last message counts as truncated.
  public func seal(
    _ message: UnsafeRawBufferPointer, into sealed: UnsafeMutableRawBufferPointer, associated: UnsafeRawBufferPointer,
    isFinal: Bool = false
  ) {
    precondition(sealed.count == message.count + Self.overhead)
    let tag = isFinal ? crypto_secretstream_xchacha20poly1305_tag_final() : 0
    _ = crypto_secretstream_xchacha20poly1305_push(
      state.pointer, sealed.baseAddress?.assumingMemoryBound(to: UInt8.self), nil,
      message.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(message.count),
      associated.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(associated.count), UInt8(tag))
  }
}

/// Decrypts the messages of a ``SealingStream`` in their order.
///
/// For one thread at a time.
public final class OpeningStream {
  private let state: StreamState

  /// Begins to read; `nil` for an invalid header.
  /// - Throws: ``KeyError`` `outOfMemory`.
  public init?(key: SecureBytes, header: [UInt8]) throws(KeyError) {
    precondition(key.count == 32)
    guard header.count == SealingStream.headerCount else { return nil }
    let state = try StreamState()
    let result = key.withPointer { crypto_secretstream_xchacha20poly1305_init_pull(state.pointer, header, $0) }
    guard result == 0 else { return nil }
    self.state = state
  }

  /// Opens the next message.
  /// - Parameter message: receives ``SealingStream/overhead`` bytes less than the sealed message has.
  /// - Returns: whether it is the last message; `nil` if its authentication fails. The stream is unusable afterwards.
  public func open(
    _ sealed: UnsafeRawBufferPointer, into message: UnsafeMutableRawBufferPointer, associated: UnsafeRawBufferPointer
  ) -> Bool? {
    guard sealed.count >= SealingStream.overhead, message.count == sealed.count - SealingStream.overhead else {
      return nil
    }
    var tag: UInt8 = 0
    let result = crypto_secretstream_xchacha20poly1305_pull(
      state.pointer, message.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, &tag,
      sealed.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(sealed.count),
      associated.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(associated.count))
    guard result == 0 else { return nil }
    return Int32(tag) == Int32(crypto_secretstream_xchacha20poly1305_tag_final())
  }
}

/// The state of a stream between guard pages; wiped at its end.
private final class StreamState {
  let pointer: UnsafeMutablePointer<crypto_secretstream_xchacha20poly1305_state>

  init() throws(KeyError) {
    let size = MemoryLayout<crypto_secretstream_xchacha20poly1305_state>.size
    guard Sodium.isReady, let memory = sodium_malloc(size) else { throw .outOfMemory("a stream") }
    pointer = memory.bindMemory(to: crypto_secretstream_xchacha20poly1305_state.self, capacity: 1)
  }

  deinit { sodium_free(pointer) }
}
