import HTTPServer

/// The tus protocol, version 1.0.0 (https://tus.io/protocols/resumable-upload): the parts that all requests share.
package enum Tus {
  package static let version = "1.0.0"
  static let versionHeader = "Tus-Resumable"
  package static let contentType = "application/offset+octet-stream"
  static let extensions =
    "creation,creation-with-upload,creation-defer-length,checksum,expiration,termination"

  /// Returns the effective method of a request. Clients that cannot send all methods name it in a header.
  static func method(of request: Request) -> String { request.headers["x-http-method-override"] ?? request.method }

  /// Refuses a request in another version of the protocol.
  static func checkVersion(of request: Request) throws(HTTPProblem) {
    guard request.headers["tus-resumable"] == version else {
      var problem = HTTPProblem(
        412, "Unsupported tus version", "the request needs the header \(versionHeader): \(version)")
      problem.headers["Tus-Version"] = version
      throw problem
    }
  }

  /// The capabilities of the server.
  static func capabilities(_ limits: FileLimits) -> Response {
    .empty(
      204,
      [
        (FileService.wayHeader, "tus"), ("Tus-Version", version), ("Tus-Extension", extensions),
        ("Tus-Max-Size", String(limits.fileBytes)),
        ("Tus-Checksum-Algorithm", UploadChecksum.Algorithm.allCases.map(\.rawValue).joined(separator: ",")),
      ])
  }
}
