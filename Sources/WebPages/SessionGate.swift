import Platform

/// Decides about the access to a local site: the browser that has exchanged the one-time link for a cookie has it, until the site was
/// idle too long.
///
/// A value without clock or randomness: the site passes the time with each event.
package struct SessionGate: Sendable {
  /// The secrets of a site, 64 hexadecimal digits each.
  package struct Secrets: Sendable {
    /// The key in the one-time link.
    let link: String
    /// The value of the cookie.
    let session: String
    /// The value that each form sends back, which other sites cannot know.
    package let token: String

    package init(random: RandomSource) {
      func draw() -> String { HexText.text(random.bytes(32)) }
      (link, session, token) = (draw(), draw(), draw())
    }
  }

  package enum Event: Sendable {
    /// A browser opens the one-time link.
    case opens(link: String, session: String?)
    /// A browser requests a page.
    case asks(session: String?)
    /// A browser sends a form.
    case sends(session: String?, token: String?)
    /// Time passes.
    case waits
  }

  package enum Decision: Sendable, Equatable {
    /// The link is exchanged: the browser receives the cookie.
    case enter
    case pass
    case refuse(Refusal)
  }

  package enum Refusal: Sendable, Equatable {
    /// The link was used before, or belongs to another run of the program.
    case staleLink
    /// The browser has no session.
    case noSession
    /// The form comes from another site, or from another run of the program.
    case foreignForm
    /// The site was idle too long.
    case locked
  }

  private let secrets: Secrets
  private let idleMilliseconds: Int64
  private var isLinkUsed = false
  private var lastUse: Int64
  /// Whether the site has locked itself. It never opens again.
  package private(set) var isLocked = false

  package init(_ secrets: Secrets, idleMilliseconds: Int64, now: Int64) {
    (self.secrets, self.idleMilliseconds, lastUse) = (secrets, idleMilliseconds, now)
  }

  package mutating func decide(_ event: Event, at now: Int64) -> Decision {
    // A clock that was set back does not extend the time.
    if now - lastUse >= idleMilliseconds || now < lastUse - idleMilliseconds { isLocked = true }
    if isLocked { return .refuse(.locked) }
    let decision = decision(about: event)
    if decision == .enter { isLinkUsed = true }
    if decision == .enter || decision == .pass, !event.isWaiting { lastUse = now }
    return decision
  }

  private func decision(about event: Event) -> Decision {
    switch event {
    case .opens(let link, let session):
      if Self.isEqual(session, secrets.session) { return .pass }
      return !isLinkUsed && Self.isEqual(link, secrets.link) ? .enter : .refuse(.staleLink)
    case .asks(let session): return Self.isEqual(session, secrets.session) ? .pass : .refuse(.noSession)
    case .sends(let session, let token):
      guard Self.isEqual(session, secrets.session) else { return .refuse(.noSession) }
      return Self.isEqual(token, secrets.token) ? .pass : .refuse(.foreignForm)
    case .waits: return .pass
    }
  }

  /// Compares secrets in a time that does not depend on their common prefix.
  private static func isEqual(_ given: String?, _ secret: String) -> Bool {
    guard let given, given.utf8.count == secret.utf8.count else { return false }
    return zip(given.utf8, secret.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}

extension SessionGate.Event {
  fileprivate var isWaiting: Bool { if case .waits = self { true } else { false } }
}
