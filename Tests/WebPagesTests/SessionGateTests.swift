import Platform
import TestSupport
import Testing

@testable import WebPages

@Suite struct SessionGateTests {
  private let secrets = SessionGate.Secrets(random: .repeatable(1))
  private let others = SessionGate.Secrets(random: .repeatable(2))

  private func gate() -> SessionGate { SessionGate(secrets, idleMilliseconds: 1000, now: 0) }

  @Test("The link opens one browser, once")
  func link() {
    var gate = gate()
    #expect(gate.decide(.opens(link: others.link, session: nil), at: 1) == .refuse(.staleLink))
    #expect(gate.decide(.asks(session: nil), at: 2) == .refuse(.noSession))
    #expect(gate.decide(.opens(link: secrets.link, session: nil), at: 3) == .enter)
    #expect(gate.decide(.opens(link: secrets.link, session: nil), at: 4) == .refuse(.staleLink))
    #expect(gate.decide(.opens(link: secrets.link, session: others.session), at: 5) == .refuse(.staleLink))
    // The same browser may open the link again.
    #expect(gate.decide(.opens(link: secrets.link, session: secrets.session), at: 6) == .pass)
    #expect(gate.decide(.asks(session: secrets.session), at: 7) == .pass)
  }

  @Test("A form needs the session and the token")
  func forms() {
    var gate = gate()
    #expect(gate.decide(.sends(session: nil, token: secrets.token), at: 1) == .refuse(.noSession))
    #expect(gate.decide(.sends(session: secrets.session, token: nil), at: 1) == .refuse(.foreignForm))
    #expect(gate.decide(.sends(session: secrets.session, token: others.token), at: 1) == .refuse(.foreignForm))
    #expect(gate.decide(.sends(session: secrets.session, token: secrets.token), at: 1) == .pass)
  }

  @Test("Only requests of the session extend the time, and a locked gate stays locked")
  func idle() {
    var gate = gate()
    #expect(gate.decide(.asks(session: secrets.session), at: 900) == .pass)
    #expect(gate.decide(.asks(session: nil), at: 1800) == .refuse(.noSession))
    #expect(gate.decide(.waits, at: 1899) == .pass)
    #expect(!gate.isLocked)
    #expect(gate.decide(.waits, at: 1900) == .refuse(.locked))
    #expect(gate.decide(.asks(session: secrets.session), at: 1901) == .refuse(.locked))
    #expect(gate.decide(.opens(link: secrets.link, session: nil), at: 0) == .refuse(.locked))
  }

  @Test("A clock that is set back far does not extend the time")
  func clockSetBack() {
    var gate = SessionGate(secrets, idleMilliseconds: 1000, now: 10_000)
    #expect(gate.decide(.asks(session: secrets.session), at: 9_500) == .pass)
    #expect(gate.decide(.asks(session: secrets.session), at: 8_400) == .refuse(.locked))
  }

  @Test("Whatever a stranger sends, only the secrets pass")
  func strangers() {
    var random = Seeded()
    for _ in 0..<200 {
      var gate = gate()
      var isEntered = false
      for time in 0..<20 {
        let guess = random.pick([
          secrets.link, secrets.token, others.session, "", String(secrets.session.dropLast()), secrets.session + "0",
        ])
        let event: SessionGate.Event = random.pick([
          .opens(link: guess, session: random.pick([nil, guess])), .asks(session: guess),
          .sends(session: guess, token: guess), .waits,
        ])
        let decision = gate.decide(event, at: Int64(time))
        switch event {
        case .opens: #expect(decision == (guess == secrets.link && !isEntered ? .enter : .refuse(.staleLink)))
        case .asks, .sends: #expect(decision == .refuse(.noSession))
        case .waits: #expect(decision == .pass)
        }
        isEntered = isEntered || decision == .enter
      }
    }
  }
}
