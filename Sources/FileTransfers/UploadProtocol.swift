import HTTPClient

/// The upload protocol of a server.
enum UploadProtocol: Sendable {
  /// The server stores files itself and supports these extensions of tus.
  case tus(TusServer)
  /// The server names addresses of an object store and accepts files up to this length in bytes.
  case presigned(greatestBytes: Int64?)

  /// Parses a response to `OPTIONS`. A server without one accepts files by tus.
  init(_ response: HTTPResponse) {
    let isPresigned = (200..<300).contains(response.status) && response.headers["fieldvault-uploads"] == "presigned"
    self =
      isPresigned
      ? .presigned(greatestBytes: response.headers["fieldvault-max-size"].flatMap { Int64($0) })
      : .tus((200..<300).contains(response.status) ? TusServer(response.headers) : TusServer())
  }

  /// Whether a status of `OPTIONS` says nothing about the server, because the same request succeeds later.
  static func isTransient(_ status: Int) -> Bool {
    [408, 413, 429].contains(status) || status >= 500 && status != 501
  }

  var isPresigned: Bool { if case .presigned = self { true } else { false } }
}
