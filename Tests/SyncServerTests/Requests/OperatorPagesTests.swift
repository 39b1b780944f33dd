import Foundation
import Platform
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// The pages for operators on the admin port, over the network and on both engines.
@Suite(.serialized) struct OperatorPagesTests {
  private static let hostile = "<script>alert('1')</script>\u{202E} e\u{301} \"&"

  /// A server with pages, and a browser that has opened a link.
  private final class Operated {
    let clock = TestClock()
    let server: MemberServer
    let browser: Browser

    init(_ engine: MemberServer.Engine) throws {
      server = try MemberServer(
        engine, isLimited: false, environment: Environment(clock: clock.clock, random: .system),
        adminListen: "127.0.0.1:0")
      browser = try Browser(try #require(server.server.adminURL))
    }

    /// The path of a new link.
    func link() throws -> String { "/open?key=\(try server.directory.addOperatorLink())" }

    func enter() throws { #expect(try browser.get(try link()).status == 303) }
  }

  /// The path with a name in its query.
  private func path(_ page: String, _ name: String) throws -> String {
    "\(page)?name=\(try #require(name.addingPercentEncoding(withAllowedCharacters: .alphanumerics)))"
  }

  @Test("A link opens one browser, once, and a session has a cookie that scripts and other sites cannot use")
  func link() async throws {
    let operated = try Operated(.folder)
    let browser = operated.browser
    for page in ["/", "/accounts", "/account?name=water", "/user?name=office", "/figures", "/audit"] {
      let refused = try browser.get(page)
      #expect(refused.status == 403 && refused.text.contains("This browser has no session"), "\(page)")
      #expect(!refused.text.contains("office") && !refused.text.contains("/accounts"), "\(page)")
    }
    let link = try operated.link()
    #expect(try browser.get(link, method: "HEAD").status == 403, "a preview does not use up the link")
    let opened = try browser.get(link)
    #expect(opened.status == 303 && opened.headers["location"] == "/")
    let cookie = try #require(opened.headers["set-cookie"])
    #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/"))
    #expect(try browser.get("/").status == 200)
    #expect(try browser.get(link).status == 303, "this browser goes on")
    let other = try Browser(try #require(operated.server.server.adminURL))
    let stale = try other.get(link)
    #expect(stale.status == 403 && stale.text.contains("This link was used before or has expired"))
    #expect(stale.headers["set-cookie"] == nil)
    // Another link opens another browser, and both go on.
    #expect(try other.get(try operated.link()).status == 303)
    #expect(try other.get("/audit").status == 200 && browser.get("/audit").status == 200)
    other.cookie = "fieldvault_\(other.port)=\(String(repeating: "A", count: 43))"
    #expect(try other.get("/").status == 403)
    await operated.server.stop()
  }

  @Test("A page that stays open overnight, and a link that is ten minutes old, are refused")
  func ended() async throws {
    let operated = try Operated(.folder)
    try operated.enter()
    let late = try operated.link()
    operated.clock.advance(by: .seconds(14 * 60))
    #expect(try operated.browser.get("/").status == 200)
    let other = try Browser(try #require(operated.server.server.adminURL))
    #expect(try other.get(late).status == 403)
    operated.clock.advance(by: .seconds(9 * 3_600))
    let page = try operated.browser.get("/accounts")
    #expect(page.status == 403 && page.text.contains("Open another link in this browser."))
    await operated.server.stop()
  }

  @Test("Only the addresses of the server show pages, and no other site reads them")
  func hosts() async throws {
    let operated = try Operated(.folder)
    try operated.enter()
    let port = operated.browser.port
    for host in ["evil.example", "evil.example:\(port)", "127.0.0.1.evil.example", "1.2.3", "localhost.evil"] {
      #expect(try operated.browser.get("/", host: host).status == 421, "\(host)")
    }
    // Cookies are for a host with its port, so a tunnel through another port needs a link of its own.
    #expect(try operated.browser.get("/", host: "localhost:\(port)").status == 200)
    #expect(try operated.browser.get("/", host: "[::1]:\(port)").status == 200)
    #expect(try operated.browser.get("/", host: "localhost:1").status == 403)
    #expect(try operated.browser.get("/", origin: "http://evil.example").status == 403)
    #expect(try operated.browser.get("/", origin: "null").status == 403)
    #expect(try operated.browser.get("/", origin: "http://127.0.0.1:\(port)").status == 200)
    let form = try operated.browser.post("/accounts", [:])
    #expect(form.status == 405 && form.headers["allow"] == "GET, HEAD")
    await operated.server.stop()
  }

  @Test("Every page forbids scripts, embedding and storing, and figures and probes need no session")
  func headers() async throws {
    let operated = try Operated(.folder)
    for isOpen in [false, true] {
      if isOpen { try operated.enter() }
      for path in ["/", "/style.css", "/audit", "/account?name=none", "/open?key=1"] {
        let headers = try operated.browser.get(path).headers
        let policy = headers["content-security-policy"] ?? ""
        #expect(policy.hasPrefix("default-src 'none'") && !policy.contains("script"), "\(path)")
        #expect(policy.contains("frame-ancestors 'none'") && headers["x-content-type-options"] == "nosniff", "\(path)")
        #expect(headers["cache-control"] == "no-store", "\(path)")
      }
      operated.browser.cookie = isOpen ? operated.browser.cookie : nil
      #expect(try operated.browser.get("/metrics", host: "prometheus.example").text.contains("fieldvault_build_info"))
      #expect(try operated.browser.get("/v1/ready").status == 200 && operated.browser.get("/v1/health").status == 200)
      #expect(try operated.browser.get("/v1/changes").status == 404)
    }
    // The address of the devices has no pages.
    let devices = try Browser(operated.server.server.url)
    devices.cookie = operated.browser.cookie
    for path in ["/", "/accounts", "/open?key=1"] { #expect(try devices.get(path).status == 404, "\(path)") }
    await operated.server.stop()
  }

  @Test(
    "Names are shown as text, and no page has a token, a hash or a value of a record",
    arguments: MemberServer.Engine.allCases)
  func hostileNames(_ engine: MemberServer.Engine) async throws {
    let operated = try Operated(engine)
    let directory = operated.server.directory
    let name = Self.hostile
    let secret = try directory.addUser(name, account: name, role: .device, expires: nil).token
    let (_, second) = try directory.addToken(to: name, role: .service, label: name, expires: nil)
    let client = TestClient(url: operated.server.server.url, token: secret)
    let device = "<img/src=x>"
    let title = "a secret title of a record"
    let project = Operation.create("Project", newUuid(), ["title": .text(title)])
    #expect(try await client.results([project]) == ["accepted"])
    let page = try await client.request("GET", "/v1/changes", headers: ["FieldVault-Device": device])
    #expect(page.status == 200)
    operated.clock.advance(by: .seconds(61))
    try operated.enter()
    try await eventually("the contact of the device is stored") {
      try operated.browser.get(try path("/account", name)).text.contains("&lt;img/src=x&gt;")
    }
    let shown =
      "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;<span class=\"invisible\">U+202E</span> e\u{301} &quot;&amp;"
    let account = try #require(try directory.account(name)).account
    let revoked = try operated.browser.get("/user?name=nobody")
    #expect(revoked.status == 404 && revoked.text.contains("No such user"))
    for (page, mustShow) in [
      ("/", false), ("/accounts", true), (try path("/account", name), true), (try path("/user", name), true),
      ("/figures", false), ("/figures?span=day", false), ("/audit", true),
    ] {
      let reply = try operated.browser.get(page)
      #expect(reply.status == 200, "\(page)")
      #expect(reply.text.contains(shown) == mustShow, "\(page): \(reply.text)")
      #expect(
        !reply.text.contains("<script") && !reply.text.contains("<img") && !reply.text.contains("<form"), "\(page)")
      for hidden in [title, secret, second] { #expect(!reply.text.contains(hidden), "\(page)") }
    }
    let text = try operated.browser.get(try path("/account", name)).text
    #expect(text.contains(account.folder) && text.contains("<dt>Last change</dt><dd>1</dd>"), "\(text)")
    // The device has read all changes.
    #expect(text.contains("<td>0</td>"), "\(text)")
    await operated.server.stop()
  }

  @Test("Lists have pages, and each row is on one of them", arguments: MemberServer.Engine.allCases)
  func pages(_ engine: MemberServer.Engine) async throws {
    let operated = try Operated(engine)
    for number in 100..<220 {
      _ = try operated.server.directory.addUser("user \(number)", account: "big", role: .device, expires: nil)
    }
    try operated.enter()
    /// Follows the links to the next page.
    func walk(_ first: String, _ pattern: Regex<(Substring, Substring)>) throws -> [Substring] {
      var (found, next) = ([Substring](), Optional(first))
      while let page = next {
        let text = try operated.browser.get(page).text
        found += text.matches(of: pattern).map(\.output.1)
        next = text.firstMatch(of: /<a href="([^"]+)">Next page</).map {
          String($0.output.1).replacingOccurrences(of: "&amp;", with: "&")
        }
      }
      return found
    }
    let users = try walk("/account?name=big", /<bdi>user (\d+)<\/bdi>/)
    #expect(users.map(String.init) == (100..<220).map { "\($0)" })
    let entries = try walk("/audit", /<bdi>user (\d+)<\/bdi>/)
    #expect(entries.map(String.init) == (100..<220).reversed().map { "\($0)" })
    let overview = try operated.browser.get("/").text
    #expect(overview.contains("<dt>Users</dt><dd><a href=\"/accounts\">121</a></dd>"), "\(overview)")
    #expect(overview.contains("1.2.3") && overview.contains("<span class=\"good\">yes</span>"))
    // An address that is no link of a page shows the first page.
    #expect(try operated.browser.get("/audit?before=x").status == 200)
    #expect(try operated.browser.get("/account?name=big&users=-9223372036854775808&devices=zz").status == 200)
    #expect(try operated.browser.get("/account?name=%00").status == 400)
    #expect(try operated.browser.get("/account").status == 404)
    await operated.server.stop()
  }

  @Test("The figures of a minute are on the page after it")
  func figures() async throws {
    let operated = try Operated(.folder)
    try operated.enter()
    #expect(try operated.browser.get("/figures").text.contains("The first figures appear a minute after the start"))
    let client = operated.server.office!
    #expect(try await client.results([Operation.create("Project", newUuid(), ["title": "Dam"])]) == ["accepted"])
    #expect(try await TestClient(url: operated.server.server.url, token: "none").get("/v1/changes").status == 401)
    var text = ""
    try await eventually("the requests are in a sample") {
      operated.clock.advance(by: .seconds(61))
      text = try operated.browser.get("/").text
      if text.contains("This browser has no session") { try operated.enter() }
      return text.contains("<dt>Accepted operations</dt><dd><a href=\"/figures\">1</a></dd>")
    }
    #expect(text.contains("<dt>Refused requests (4xx)</dt><dd><a href=\"/figures\">1</a></dd>"))
    for page in ["/figures", "/figures?span=day"] {
      let reply = try operated.browser.get(page)
      #expect(reply.text.components(separatedBy: "<figure>").count == 11 && reply.text.contains("Free on the disk"))
    }
    await operated.server.stop()
  }

  @Test("A link made at one node opens the pages of another")
  func nodes() async throws {
    let operated = try Operated(.postgres)
    let node = try operated.server.startNode()
    let browser = try Browser(try #require(node.adminURL))
    #expect(try browser.get(try operated.link()).status == 303)
    #expect(try browser.get("/").text.contains("PostgreSQL"))
    // The session is valid at both. Its cookie has the port in its name, as both are on one host here.
    operated.browser.cookie = browser.cookie?.replacingOccurrences(
      of: "fieldvault_\(browser.port)", with: "fieldvault_\(operated.browser.port)")
    #expect(try operated.browser.get("/").status == 200)
    await node.stop()
    await operated.server.stop()
  }
}
