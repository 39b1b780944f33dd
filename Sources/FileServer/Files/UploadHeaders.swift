import HTTPServer

/// The tus headers of a request about an upload.
struct UploadHeaders {
  let request: Request

  /// Returns `Upload-Offset`, which is required.
  func offset() throws(HTTPProblem) -> Int64 {
    guard let offset = try number("Upload-Offset") else {
      throw .badRequest("the header Upload-Offset is missing", field: "Upload-Offset")
    }
    return offset
  }

  /// Returns `Upload-Length`, if it exists.
  /// - Throws: ``HTTPProblem`` with 413 if it exceeds the size limit of files.
  func length(limit: Int64) throws(HTTPProblem) -> Int64? {
    guard let length = try number("Upload-Length") else { return nil }
    guard length <= limit else { throw .fileTooLarge(limit: limit) }
    return length
  }

  /// Returns the length of a new upload; `nil` if the client defers it.
  func lengthOfNew(limit: Int64) throws(HTTPProblem) -> Int64? {
    let length = try length(limit: limit)
    guard let deferred = request.headers["upload-defer-length"] else {
      guard let length else {
        throw .badRequest("the request needs the header Upload-Length or Upload-Defer-Length", field: "Upload-Length")
      }
      return length
    }
    guard deferred == "1", length == nil else {
      throw .badRequest(
        "Upload-Defer-Length must be 1 and excludes Upload-Length", field: "Upload-Defer-Length")
    }
    return nil
  }

  /// Returns whether the request has a body of an upload.
  /// - Throws: ``HTTPProblem`` with 415 for a body of another type.
  func hasContent() throws(HTTPProblem) -> Bool {
    guard request.headers["content-type"] == Tus.contentType else {
      if request.announcesBody { throw .notUploadContent }
      return false
    }
    return true
  }

  /// The size of the body in bytes; `nil` if the request does not state it.
  var bodyLength: Int64? {
    if request.headers["transfer-encoding"] != nil { return nil }
    guard let text = request.headers["content-length"] else { return 0 }
    return Int64(text) ?? .max
  }

  /// Parses a number that consists only of decimal digits. A number that is too large for any file counts as the
  /// largest.
  private func number(_ name: String) throws(HTTPProblem) -> Int64? {
    guard let text = request.headers[name.lowercased()] else { return nil }
    guard !text.isEmpty, text.utf8.count <= 100, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw .badRequest("\(name) must be a non-negative integer", field: name)
    }
    return Int64(text) ?? .max
  }
}

extension HTTPProblem {
  static func fileTooLarge(limit: Int64) -> HTTPProblem {
    HTTPProblem(413, "The file is too large", "a file may have at most \(limit) bytes", field: "Upload-Length")
  }

  static let notUploadContent = HTTPProblem(
    415, "The body is not part of an upload", "the request needs the header Content-Type: \(Tus.contentType)")
}
