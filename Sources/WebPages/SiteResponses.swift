import HTTPServer

/// The responses of a site, with the headers that keep a browser from running, loading, embedding or keeping anything.
package struct SiteResponses: Sendable {
  private let frame: PageFrame

  package init(_ frame: PageFrame) { self.frame = frame }

  /// A page in its frame.
  /// - Parameter hasPages: whether the reader may see other pages.
  package func page(_ page: WebPage, hasPages: Bool) -> Response {
    let source = frame.source(of: page, hasPages: hasPages)
    var response = Response(status: page.status, contentType: "text/html; charset=utf-8", body: Array(source.utf8))
    if let seconds = page.refreshSeconds { response.headers.append(("Refresh", String(seconds))) }
    return Self.finished(response)
  }

  /// Leads a browser to another page.
  /// - Parameter cookie: a cookie that scripts and other sites cannot use; `nil` for none.
  package func redirect(_ link: Link, cookie: (name: String, value: String)? = nil) -> Response {
    let cookies = cookie.map { [("Set-Cookie", "\($0.name)=\($0.value); Path=/; HttpOnly; SameSite=Strict")] } ?? []
    return Self.finished(.empty(303, [("Location", link.text)] + cookies))
  }

  /// The style sheet of all pages.
  package var styleSheet: Response {
    Self.finished(Response(status: 200, contentType: "text/css; charset=utf-8", body: Array(StyleSheet.text.utf8)))
  }

  /// The response to the request for an icon, which browsers send on their own.
  package var noIcon: Response { Self.finished(.empty(204)) }

  /// Adds the headers. `Cache-Control: no-store` is on all responses of ``HTTPServer``.
  static func finished(_ response: Response) -> Response {
    var response = response
    response.headers += [
      (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
      ),
      ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "same-origin"),
      ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
    return response
  }
}

extension Request {
  /// Returns the value of a cookie; `nil` without it.
  package func cookie(_ name: String) -> String? {
    for pair in (headers["cookie"] ?? "").split(separator: ";") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      if parts.count == 2, parts[0].drop(while: { $0 == " " }) == name { return String(parts[1]) }
    }
    return nil
  }
}
