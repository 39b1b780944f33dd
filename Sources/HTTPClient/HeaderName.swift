/// Names of request headers, and which of them a route file or a response may set.
package enum HeaderName {
  /// Headers that frame a message, name its host or manage the connection. The transport alone sets them.
  private static let ofTransport: Set<String> = [
    "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// Headers that identify the user or that describe a body.
  private static let ofRequest: Set<String> = [
    "accept", "accept-encoding", "authorization", "content-encoding", "content-type", "cookie", "cookie2", "date",
    "forwarded", "origin", "referer", "tus-resumable", "user-agent", "via", "x-http-method-override",
  ]

  /// Returns whether a text is a header name: a token of RFC 9110, section 5.6.2.
  package static func isName(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy {
        URIReference.isLetter($0) || URIReference.isDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0)
      }
  }

  /// Returns whether a request may have a header in addition to the headers of the transport.
  package static func isForRequests(_ name: String) -> Bool {
    isName(name) && !ofTransport.contains(name.lowercased())
  }

  /// Returns whether a route file may set a header.
  package static func isForRoutes(_ name: String) -> Bool {
    isForRequests(name) && !ofRequest.contains(name.lowercased())
  }
}
