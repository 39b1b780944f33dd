import SyncModel
import Testing

@Suite struct ClockOffsetTests {
  @Test("A slow request to a server with an equal clock measures no offset", arguments: [0, 1, 350, 60_000])
  func slowRequest(delay: Int64) {
    // The server reads its clock early, in the middle, or late.
    for serverTime in [10_000, 10_000 + delay / 2, 10_000 + delay] {
      let offset = ClockOffset.afterResponse(known: nil, serverTime: serverTime, sent: 10_000, received: 10_000 + delay)
      #expect(offset == 0)
    }
  }

  @Test("A wrong clock is corrected to within the duration of the request")
  func wrongClock() {
    for error: Int64 in [-86_400_000, -5_000, 5_000, 86_400_000] {
      let offset = ClockOffset.afterResponse(known: nil, serverTime: 10_100 + error, sent: 10_000, received: 10_200)
      #expect(abs(offset - error) <= 200)
    }
  }

  @Test("A known offset stays within the noise of the network, and follows a clock that jumps")
  func knownOffset() {
    #expect(ClockOffset.afterResponse(known: 5_000, serverTime: 15_900, sent: 10_000, received: 10_000) == 5_000)
    #expect(ClockOffset.afterResponse(known: 5_000, serverTime: 16_000, sent: 10_000, received: 10_000) == 6_000)
    #expect(ClockOffset.afterResponse(known: 5_000, serverTime: 10_000, sent: 10_000, received: 10_020) == 0)
  }
}
