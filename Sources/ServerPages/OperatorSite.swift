import HTTPServer
import Platform
import ServerStorage
import WebPages

/// The pages for operators on the operator's address, in front of its other paths.
///
/// A link that `OperatorDirectory` has made gives a browser a cookie. Links and sessions are in the directory, so every node accepts
/// them. The pages have no forms, and only `GET` and `HEAD` are allowed.
package struct OperatorSite: Sendable {
  private let pages: OperatorPages
  private let directory: any OperatorDirectory
  private let facts: any ServedFacts
  private let host: String
  private let linkHint: String
  private let responses: SiteResponses

  /// - Parameters:
  ///   - listen: the address on which the pages are, `HOST:PORT`.
  ///   - linkHint: a sentence for operators without a session: how they make a link.
  package init(_ directory: any OperatorDirectory, _ facts: any ServedFacts, listen: String, linkHint: String) {
    (self.directory, self.facts, self.linkHint) = (directory, facts, linkHint)
    pages = OperatorPages(directory: directory, facts: facts)
    host = Self.name(of: listen)
    responses = SiteResponses(PageFrame(name: "FieldVault server", standing: "read-only", pages: OperatorPages.all))
  }

  /// Returns whether a path belongs to the pages.
  package func has(_ path: String) -> Bool {
    OperatorPages.paths.contains(path) || ["/open", "/style.css", "/favicon.ico"].contains(path)
  }

  /// Returns the response to a request for one of the paths.
  package func response(to request: Request) async -> Response {
    guard request.method == "GET" || request.method == "HEAD" else {
      var response = plain("This is not possible", 405, "<p>The pages are read-only.</p>")
      response.headers.append(("Allow", "GET, HEAD"))
      return response
    }
    // A foreign name that leads to this address would let another site read the pages (DNS rebinding).
    let given = request.headers["host"]?.lowercased() ?? ""
    guard isOwn(Self.name(of: given)) else {
      return plain(
        "This is not the address of the server", 421, "<p>Use the address that the server listens on, or localhost.</p>"
      )
    }
    if let origin = request.headers["origin"]?.lowercased(), origin != "http://\(given)", origin != "https://\(given)" {
      return plain("The request was refused", 403, "<p>It comes from another site.</p>")
    }
    switch request.path {
    case "/style.css": return responses.styleSheet
    case "/favicon.ico": return responses.noIcon
    default:
      do {
        return try await respond(to: request, cookie: "fieldvault_\(Self.port(of: given))")
      } catch {
        facts.log("\(request.path): \(error)")
        return plain(
          "The page cannot be shown", 503,
          "<p>The data of the server cannot be read now. The log of the server has the reason.</p>")
      }
    }
  }

  /// - Parameter cookie: the name of the cookie. Cookies are shared by all ports of a host, so two servers need two names.
  private func respond(to request: Request, cookie: String) async throws -> Response {
    let secret = request.cookie(cookie)
    let directory = directory
    let isKnown = try await offload { try secret.map(directory.useOperatorSession) ?? false }
    if request.path == "/open" {
      if isKnown { return responses.redirect(Link("/")) }
      let key = request.query["key"] ?? ""
      // A program that previews links, as in a chat, sends HEAD. It must not use up the link.
      let new = request.method == "GET" ? try await offload { try directory.openOperatorSession(link: key) } : nil
      guard let new else {
        return plain(
          "This link was used before or has expired", 403,
          "<p>A link opens one browser, once, within ten minutes. \(linkHint)</p>")
      }
      return responses.redirect(Link("/"), cookie: (cookie, new))
    }
    guard isKnown else {
      return plain(
        "This browser has no session", 403,
        "<p>A session ends after 15 minutes without a request, and after 12 hours. \(linkHint)</p>")
    }
    return responses.page(try await pages.page(request), hasPages: true)
  }

  private func plain(_ title: String, _ status: Int, _ body: HTML) -> Response {
    responses.page(WebPage(title, status: status, body), hasPages: false)
  }

  // MARK: Addresses

  /// Whether a name is this server: the name in its own address, localhost, or an IP address, which no other site can have.
  private func isOwn(_ name: String) -> Bool {
    if name == host || name == "localhost" { return !name.isEmpty }
    if name.hasPrefix("["), name.hasSuffix("]") {
      return name.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
  }

  /// The host of an address without its port, in lower case.
  private static func name(of address: String) -> String {
    let end = address.hasSuffix("]") ? nil : address.lastIndex(of: ":")
    return String(address[..<(end ?? address.endIndex)]).lowercased()
  }

  private static func port(of address: String) -> String {
    let digits = address.dropFirst(name(of: address).count).dropFirst()
    return UInt16(digits).map(String.init) ?? ""
  }
}
