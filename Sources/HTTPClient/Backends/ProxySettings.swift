import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The proxies of the environment variables that curl and comparable programs use: `https_proxy`, `http_proxy`,
/// `all_proxy` and `no_proxy`, also in upper case.
///
/// `http_proxy` counts in lower case only, because a web server passes a header `Proxy` of its clients to its programs as
/// `HTTP_PROXY`. Apple's systems have settings of their own, and URLSession follows them.
package struct ProxySettings: Equatable, Sendable {
  /// A proxy.
  package struct Proxy: Equatable, Sendable {
    /// The address as libcurl reads it, which may contain a user name and a password.
    package let url: String
    /// Host and port for messages, without credentials.
    package let name: String
  }

  private let ofHTTPS: Proxy?
  private let ofHTTP: Proxy?
  private let exceptions: [Substring]

  /// The settings of this process.
  package static var system: ProxySettings { ProxySettings(variables: ProcessInfo.processInfo.environment) }

  /// Reads environment variables. An empty variable counts as not set.
  package init(variables: [String: String]) {
    func first(_ names: String...) -> String? {
      names.lazy.compactMap { variables[$0] }.first { !$0.isEmpty }
    }
    ofHTTPS = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY").map(Proxy.init)
    ofHTTP = first("http_proxy", "all_proxy", "ALL_PROXY").map(Proxy.init)
    exceptions = (first("no_proxy", "NO_PROXY") ?? "").split { $0 == "," || $0.isWhitespace }
  }

  /// Returns the proxy for a URL; `nil` for a direct connection. A server on this machine is never reached through a proxy.
  package func proxy(for url: String) -> Proxy? {
    guard let uri = URIReference(url) else { return nil }
    let origin: Origin
    do throws(Origin.Problem) {
      origin = try Origin(uri)
    } catch {
      // Every request was checked before; see `ServerAddress.url(of:)`.
      return nil
    }
    guard let proxy = origin.scheme == "https" ? ofHTTPS : ofHTTP, !ServerAddress.isLoopback(origin.host) else {
      return nil
    }
    return exceptions.contains { Self.isMet($0, by: origin.host) } ? nil : proxy
  }

  /// Whether an entry of `no_proxy` covers a host: `*`, the host, a domain that it belongs to, its address, or a block of
  /// addresses such as `10.0.0.0/8`.
  private static func isMet(_ entry: Substring, by host: String) -> Bool {
    if entry == "*" { return true }
    if let address = IPAddress(host[...]) { return address.isIn(entry) }
    func plain(_ text: some StringProtocol) -> String {
      let text = text.lowercased()
      return text.hasSuffix(".") ? String(text.dropLast()) : text
    }
    let (host, domain) = (plain(host), plain(entry.drop { $0 == "." }))
    return !domain.isEmpty && (host == domain || host.hasSuffix("." + domain))
  }
}

extension ProxySettings.Proxy {
  init(_ url: String) {
    var rest = url[...]
    var scheme = "http"
    if let colon = rest.range(of: "://") {
      scheme = rest[..<colon.lowerBound].lowercased()
      rest = rest[colon.upperBound...]
    }
    rest = rest.prefix { $0 != "/" }
    if let mark = rest.lastIndex(of: "@") { rest = rest[rest.index(after: mark)...] }
    // The ports that libcurl assumes.
    let port = scheme == "https" ? ":443" : ":1080"
    // The colons of an address in brackets begin no port.
    let hasPort = rest[(rest.lastIndex(of: "]") ?? rest.startIndex)...].contains(":")
    self.init(url: url, name: rest.isEmpty ? "without a host" : rest + (hasPort ? "" : port))
  }
}

/// An IP address, by its bytes.
private struct IPAddress {
  private let bytes: [UInt8]

  init?(_ text: Substring) {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, String(text), &bytes) == 1 {
      self.bytes = Array(bytes.prefix(4))
    } else if inet_pton(AF_INET6, String(text), &bytes) == 1 {
      self.bytes = bytes
    } else {
      return nil
    }
  }

  /// Whether an entry is this address or a block with it.
  func isIn(_ entry: Substring) -> Bool {
    let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
    guard let other = IPAddress(parts[0].filter { $0 != "[" && $0 != "]" }[...]), other.bytes.count == bytes.count,
      parts.count <= 2
    else { return false }
    let whole = bytes.count * 8
    guard let bits = parts.count == 2 ? Int(parts[1]) : whole, (0...whole).contains(bits) else { return false }
    return (0..<bits).allSatisfy { bit in (bytes[bit / 8] ^ other.bytes[bit / 8]) & (0x80 >> (bit % 8)) == 0 }
  }
}
