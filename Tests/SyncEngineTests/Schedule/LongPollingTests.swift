import Testing

@testable import SyncEngine

/// The requests that wait for changes of the server.
@Suite struct LongPollingTests {
  private typealias Event = LongPolling.Event

  private func looked(
    _ cursor: String? = "here", projects: [String] = [], mayAsk: Bool = true, isInRound: Bool = false
  ) -> Event {
    .looked(LongPolling.Facts(cursor: cursor, projects: projects, mayAsk: mayAsk, isInRound: isInRound))
  }

  private let ask = LongPolling.Effect.ask(cursor: "here", projects: [], seconds: 50)

  /// Returns long polls whose first request is outstanding.
  private func asking() -> LongPolling {
    var polling = LongPolling()
    #expect(polling.handle(.started) == [.look])
    #expect(polling.handle(looked()) == [ask])
    return polling
  }

  @Test("Nothing is asked without a network, without permission or before the first round")
  func notYet() {
    for facts in [looked(mayAsk: false), looked(nil)] {
      var polling = LongPolling()
      _ = polling.handle(.started)
      #expect(polling.handle(facts) == [.waitForRound])
      #expect(polling.handle(.roundEnded) == [.look])
      #expect(polling.handle(looked()) == [ask])
    }
  }

  @Test("A response with changes requests a round, and the next request follows its end")
  func changes() {
    var polling = asking()
    #expect(polling.handle(.responded(isNew: true, isQuick: false)) == [.look])
    #expect(polling.handle(looked()) == [.request(.remoteChange), .waitForRound])
    #expect(polling.handle(.roundEnded) == [.look])
    #expect(polling.handle(looked("there")) == [.ask(cursor: "there", projects: [], seconds: 50)])
  }

  @Test("Requests go on behind changes of other projects, until a round, other projects or a failure")
  func otherProjects() {
    var polling = LongPolling()
    func ask(_ event: LongPolling.Event) -> LongPolling.Effect? { polling.handle(event).first }
    func unchanged(_ cursor: String?) {
      _ = polling.handle(.responded(isNew: false, isQuick: false, cursor: cursor))
    }
    _ = polling.handle(.started)
    #expect(ask(looked(projects: ["p"])) == .ask(cursor: "here", projects: ["p"], seconds: 50))
    unchanged("behind")
    #expect(ask(looked(projects: ["p"])) == .ask(cursor: "behind", projects: ["p"], seconds: 50))
    unchanged(nil)
    #expect(ask(looked(projects: ["p"])) == .ask(cursor: "behind", projects: ["p"], seconds: 50))
    unchanged(nil)
    #expect(ask(looked(projects: ["p", "q"])) == .ask(cursor: "here", projects: ["p", "q"], seconds: 50))
    unchanged("behind")
    #expect(ask(looked("there", projects: ["p", "q"])) == .ask(cursor: "there", projects: ["p", "q"], seconds: 50))
    unchanged("beyond")
    #expect(ask(looked("there", projects: ["p", "q"])) == .ask(cursor: "beyond", projects: ["p", "q"], seconds: 50))
    _ = polling.handle(.failed)
    _ = polling.handle(.waited)
    #expect(ask(looked("there", projects: ["p", "q"])) == .ask(cursor: "there", projects: ["p", "q"], seconds: 50))
  }

  @Test("A change that a round has fetched meanwhile requests no other round")
  func fetchedAlready() {
    var polling = asking()
    _ = polling.handle(.responded(isNew: true, isQuick: false))
    #expect(polling.handle(looked(isInRound: true)) == [.waitForRound])
    #expect(polling.handle(.roundEnded) == [.look])
    #expect(polling.handle(looked("there", isInRound: true)) == [.ask(cursor: "there", projects: [], seconds: 50)])
  }

  @Test("A round under way is waited for once")
  func anotherRound() {
    var polling = asking()
    _ = polling.handle(.responded(isNew: true, isQuick: false))
    _ = polling.handle(looked(isInRound: true))
    _ = polling.handle(.roundEnded)
    #expect(polling.handle(looked(isInRound: true)) == [.request(.remoteChange), .waitForRound])
  }

  @Test("A server that responds at once without changes is polled less and less often, at least once a minute")
  func emptyResponses() {
    var polling = asking()
    func pause(_ cursor: String = "here", isQuick: Bool = true) -> LongPolling.Effect? {
      _ = polling.handle(.responded(isNew: false, isQuick: isQuick))
      let effect = polling.handle(looked(cursor)).first
      if case .wait = effect {
        #expect(polling.handle(.waited) == [.look])
        _ = polling.handle(looked())
      }
      return effect
    }
    #expect((0..<8).map { _ in pause() } == [1, 2, 4, 8, 16, 32, 60, 60].map { .wait(seconds: $0) })
    // A response that took its time ends the pauses.
    #expect(pause(isQuick: false) == ask)
    #expect(pause() == .wait(seconds: 1))
    // So does a round that has moved the cursor.
    #expect(pause("there") == .ask(cursor: "there", projects: [], seconds: 50))
  }

  @Test(
    "An unreachable server is polled less and less often, at least every five minutes; one round reports the failure")
  func failures() {
    var polling = asking()
    var pauses: [LongPolling.Effect] = []
    for number in 0..<8 {
      var effects = polling.handle(.failed)
      if number == 0 { #expect(effects.removeFirst() == .request(.network)) }
      pauses += effects
      #expect(polling.handle(.waited) == [.look])
      #expect(polling.handle(looked()) == [ask])
    }
    #expect(pauses == [5, 10, 20, 40, 80, 160, 300, 300].map { .wait(seconds: $0) })
    _ = polling.handle(.responded(isNew: false, isQuick: false))
    #expect(polling.handle(looked()) == [ask])
    #expect(polling.handle(.failed) == [.request(.network), .wait(seconds: 5)])
  }

  @Test("Every event in every state has effects, and the last one needs an event")
  func walk() {
    let events: [Event] = [
      .started, looked(), looked("there", isInRound: true), looked(nil, mayAsk: false),
      .responded(isNew: true, isQuick: true), .responded(isNew: false, isQuick: true), .failed, .roundEnded, .waited,
    ]
    var known: [LongPolling] = [LongPolling()]
    for _ in 0..<4 {
      known = known.flatMap { state in
        events.map { event in
          var next = state
          let effects = next.handle(event)
          if case .request? = effects.last { Issue.record("\(state) ends with a request after \(event)") }
          #expect(!effects.isEmpty, "\(state) stops after \(event)")
          return next
        }
      }
    }
  }

  @Test("Every step of a round but the last is noted when it takes more than five seconds")
  func slowSteps() {
    #expect(RoundStep.identify.slowSeconds == 5 && RoundStep.pull(limit: 1).slowSeconds == 5)
    #expect(RoundStep.finish(.done).slowSeconds == nil)
  }
}
