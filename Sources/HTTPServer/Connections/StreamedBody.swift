import CMicroHTTPD

/// The body of one response that is made while it is sent. libmicrohttpd keeps it as a retained pointer until it
/// releases the response.
///
/// `@unchecked Sendable` holds because the pointer of the connection is only used in ``read(into:)``, which the library
/// calls for a connection that exists, one call at a time.
final class StreamedBody: @unchecked Sendable {
  private let source: any BodySource
  private let exchange: ConnectionState
  private let connection: OpaquePointer
  private let server: HTTPServer

  init(_ source: any BodySource, of exchange: ConnectionState, on connection: OpaquePointer, _ server: HTTPServer) {
    (self.source, self.exchange, self.connection, self.server) = (source, exchange, connection, server)
  }

  // The macros MHD_SIZE_UNKNOWN, MHD_CONTENT_READER_END_OF_STREAM and MHD_CONTENT_READER_END_WITH_ERROR, whose casts Swift
  // does not import.
  static let unknownSize = UInt64.max
  private static let end = -1
  static let failed = -2

  /// The size of a chunk at most.
  static let blockBytes = 32 << 10

  /// Stores the next bytes, or suspends the connection until they are known.
  /// - Returns: the number of bytes, or a code of the library.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    switch source.read(into: buffer) {
    case .bytes(let count):
      exchange.sent(count)
      return count
    case .end: return Self.end
    case .failed: return Self.failed
    case .empty:
      guard let suspended = server.suspend(connection, for: exchange) else { return Self.failed }
      exchange.waitForBody(socket: cmicrohttpd_socket(connection))
      source.whenReady { [exchange, server] in
        exchange.waitForBody(socket: nil)
        server.resume(suspended)
      }
      return 0
    }
  }
}
