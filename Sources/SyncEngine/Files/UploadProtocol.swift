import WebTransport

/// How a server takes and gives files.
enum UploadProtocol: Sendable {
  /// It keeps them itself; this is what it can do of tus.
  case tus(TusServer)
  /// It names addresses of an object store; the longest file that it takes, in bytes.
  case presigned(greatestBytes: Int64?)

  /// What an answer to `OPTIONS` says; a server that says nothing takes files by tus.
  init(_ answer: HTTPResponse) {
    let isPresigned = (200..<300).contains(answer.status) && answer.headers["fieldvault-uploads"] == "presigned"
    self =
      isPresigned
      ? .presigned(greatestBytes: answer.headers["fieldvault-max-size"].flatMap { Int64($0) })
      : .tus((200..<300).contains(answer.status) ? TusServer(answer.headers) : TusServer())
  }

  var isPresigned: Bool { if case .presigned = self { true } else { false } }
}
