import Testing

@testable import HTTPClient

/// The decisions about a missing or refused token.
@Suite struct TokenRenewalTests {
  private var renewal = TokenRenewal()

  private static func failure(_ detail: String) -> TransportFailure {
    .noValidToken(detail: detail, hint: "no data is lost; the next sync asks for a token again")
  }

  @Test("The provider is asked once, and the request is sent again with the checked token")
  mutating func renewed() {
    #expect(renewal.handle(.refused(request: 1, token: "old", stored: "old")) == [.ask(call: 1, .refused)])
    #expect(
      renewal.handle(.provided(call: 1, token: "new")) == [.check(call: 1, token: "new", refused: "old")])
    #expect(renewal.handle(.accepted(call: 1, token: "new")) == [.resume([1], .send(token: "new"))])
    #expect(!renewal.isRunning)
  }

  @Test("A missing token is asked for with its own reason")
  mutating func missing() {
    #expect(renewal.handle(.refused(request: 1, token: nil, stored: nil)) == [.ask(call: 1, .missing)])
    #expect(renewal.handle(.provided(call: 1, token: "new")) == [.check(call: 1, token: "new", refused: nil)])
    #expect(renewal.handle(.accepted(call: 1, token: "new")) == [.resume([1], .send(token: "new"))])
  }

  @Test("Requests that are refused during a renewal and after it share its outcome")
  mutating func shared() {
    _ = renewal.handle(.refused(request: 1, token: "old", stored: "old"))
    #expect(renewal.handle(.refused(request: 2, token: "old", stored: "old")) == [])
    _ = renewal.handle(.provided(call: 1, token: "new"))
    #expect(renewal.handle(.refused(request: 3, token: "old", stored: "old")) == [])
    #expect(renewal.handle(.accepted(call: 1, token: "new")) == [.resume([1, 2, 3], .send(token: "new"))])
    // The token was read before the renewal ended, or after it.
    for stored in ["old", "new"] {
      #expect(
        renewal.handle(.refused(request: 4, token: "old", stored: stored)) == [.resume([4], .send(token: "new"))])
    }
    #expect(renewal.handle(.refused(request: 5, token: "new", stored: "new")) == [.ask(call: 2, .refused)])
  }

  @Test("A token that the user has set in the meantime is used, and a removed one is not replaced")
  mutating func setByUser() {
    #expect(
      renewal.handle(.refused(request: 1, token: "old", stored: "other")) == [.resume([1], .send(token: "other"))])
    _ = renewal.handle(.refused(request: 2, token: "old", stored: "old"))
    _ = renewal.handle(.provided(call: 1, token: "new"))
    _ = renewal.handle(.accepted(call: 1, token: "new"))
    #expect(renewal.handle(.refused(request: 3, token: "old", stored: nil)) == [.resume([3], .stand)])
    #expect(renewal.handle(.refused(request: 4, token: nil, stored: nil)) == [.ask(call: 2, .missing)])
  }

  @Test("The same token, no token and a second refusal let the refusal of the server stand until the next round")
  mutating func noOther() {
    for token in ["old", nil] {
      renewal = TokenRenewal()
      _ = renewal.handle(.refused(request: 1, token: "old", stored: "old"))
      #expect(renewal.handle(.provided(call: 1, token: token)) == [.resume([1], .stand)])
      #expect(renewal.handle(.refused(request: 2, token: "old", stored: "old")) == [.resume([2], .stand)])
      #expect(renewal.handle(.roundBegan) == [])
      #expect(renewal.handle(.refused(request: 3, token: "old", stored: "old")) == [.ask(call: 2, .refused)])
    }
    renewal = TokenRenewal()
    #expect(renewal.handle(.refusedAgain(token: "new")) == [])
    #expect(renewal.handle(.refused(request: 1, token: "new", stored: "new")) == [.resume([1], .stand)])
  }

  @Test("A failed, slow or unusable provider fails the requests with the reason, and is not asked again before a round")
  mutating func failures() {
    let cases: [(TokenRenewal.Event, String)] = [
      (.providerFailed(call: 1, message: "no sign-in"), "no sign-in"),
      (.timedOut(call: 1, seconds: 75), "the provider of tokens returned none within 75 s"),
      (.provided(call: 1, token: ""), "the provider returned an empty token"),
      (
        .provided(call: 1, token: "a b"),
        "the provider returned a token with white space or characters other than printable ASCII"
      ),
    ]
    for (event, reason) in cases {
      renewal = TokenRenewal()
      _ = renewal.handle(.refused(request: 1, token: "old", stored: "old"))
      #expect(renewal.handle(event) == [.resume([1], .fail(Self.failure(reason)))])
      #expect(
        renewal.handle(.refused(request: 2, token: "old", stored: "old"))
          == [.resume([2], .fail(Self.failure(reason)))])
      _ = renewal.handle(.roundBegan)
      #expect(renewal.handle(.refused(request: 3, token: "old", stored: "old")) == [.ask(call: 2, .refused)])
    }
  }

  @Test("A token that could not be checked because the server was not reached is asked for again")
  mutating func notChecked() {
    let lost = TransportFailure.noConnection(detail: "lost")
    for (failure, asksAgain) in [(lost, true), (Self.failure("of another account"), false)] {
      renewal = TokenRenewal()
      _ = renewal.handle(.refused(request: 1, token: "old", stored: "old"))
      _ = renewal.handle(.provided(call: 1, token: "new"))
      #expect(renewal.handle(.rejected(call: 1, failure)) == [.resume([1], .fail(failure))])
      let next = renewal.handle(.refused(request: 2, token: "old", stored: "old"))
      #expect(next == (asksAgain ? [.ask(call: 2, .refused)] : [.resume([2], .fail(failure))]))
    }
  }

  @Test("A cancelled request ends alone, and the last one ends the call")
  mutating func cancelled() {
    _ = renewal.handle(.refused(request: 1, token: "old", stored: "old"))
    _ = renewal.handle(.refused(request: 2, token: "old", stored: "old"))
    #expect(renewal.handle(.cancelled(request: 1)) == [.resume([1], .fail(.cancelled))])
    #expect(renewal.isRunning)
    #expect(renewal.handle(.cancelled(request: 2)) == [.resume([2], .fail(.cancelled))])
    #expect(!renewal.isRunning)
    #expect(renewal.handle(.refused(request: 3, token: "old", stored: "old")) == [.ask(call: 2, .refused)])
  }

  @Test("Events of an earlier call, and events out of order, change nothing")
  mutating func lateEvents() {
    _ = renewal.handle(.refused(request: 1, token: "old", stored: "old"))
    _ = renewal.handle(.cancelled(request: 1))
    _ = renewal.handle(.refused(request: 2, token: "old", stored: "old"))
    let before = renewal
    let late: [TokenRenewal.Event] = [
      .provided(call: 1, token: "late"), .providerFailed(call: 1, message: ""), .timedOut(call: 1, seconds: 1),
      .accepted(call: 1, token: "late"), .rejected(call: 1, .cancelled), .accepted(call: 2, token: "early"),
      .rejected(call: 2, .cancelled), .cancelled(request: 9),
    ]
    for event in late {
      #expect(renewal.handle(event) == [])
      #expect(renewal == before, "\(event)")
    }
    _ = renewal.handle(.provided(call: 2, token: "new"))
    let checking = renewal
    for event in [TokenRenewal.Event.timedOut(call: 2, seconds: 1), .providerFailed(call: 2, message: "")] {
      #expect(renewal.handle(event) == [])
      #expect(renewal == checking)
    }
  }

  @Test("Only a refusal in the form of its protocol refuses the token")
  func refusals() {
    func response(_ status: Int, _ type: String, _ body: String = "") -> HTTPResponse {
      HTTPResponse(status: status, contentType: type, body: Array(body.utf8))
    }
    let problem = response(
      401, "application/problem+json", #"{"type":"about:blank","title":"No","status":401,"detail":"expired"}"#)
    let page = response(401, "text/html", "<html>")
    let text = response(401, "text/plain", "no")
    let wire = TokenRefusal(body: .problem)
    #expect([problem, page, text, response(403, "")].map(wire.isMet) == [true, false, false, false])
    #expect([problem, page, text, response(403, "")].map(TokenRefusal().isMet) == [true, false, true, false])
    let other = TokenRefusal(statuses: [403], body: .any)
    #expect([problem, page, text, response(403, "")].map(other.isMet) == [false, false, false, true])
  }
}
