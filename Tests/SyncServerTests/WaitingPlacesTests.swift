import TestSupport
import Testing

@testable import SyncServer

/// The places of long polls.
@Suite struct WaitingPlacesTests {
  private let now = ContinuousClock.now

  private func place(_ account: String, _ user: Int64, seconds: Int = 50) -> WaitingPlaces.Place {
    WaitingPlaces.Place(account: account, user: user, end: now + .seconds(seconds))
  }

  private func isAdmitted(_ admission: WaitingPlaces.Admission) -> Bool {
    if case .waits = admission { true } else { false }
  }

  @Test("One user has only some of the places, and hears when one of them becomes free")
  func oneUser() {
    var places = WaitingPlaces(limit: 100, perUser: 3)
    for seconds in [50, 20, 40] {
      #expect(isAdmitted(places.admit(place("a", 1, seconds: seconds))))
    }
    #expect(isAdmitted(places.admit(place("a", 2, seconds: 5))))
    #expect(places.admit(place("a", 1)) == .refused(until: now + .seconds(20)))
    places.free(2)
    #expect(isAdmitted(places.admit(place("a", 1))))
    #expect(places.admit(place("a", 1)) == .refused(until: now + .seconds(40)))
  }

  @Test("An account with many users leaves places for others")
  func oneAccount() {
    var places = WaitingPlaces(limit: 100, perUser: 3)
    let admitted = (0..<200).filter { isAdmitted(places.admit(place("a", Int64($0)))) }.count
    #expect(admitted == 50)
    #expect((200..<400).filter { isAdmitted(places.admit(place("b", Int64($0)))) }.count == 33)
    #expect((400..<600).filter { isAdmitted(places.admit(place("c", Int64($0)))) }.count == 17)
  }

  @Test("Any admissions and ends keep the limits", arguments: [UInt64.random(in: 0...9_999_999), 1])
  func limits(seed: UInt64) {
    print("WaitingPlacesTests: seed \(seed)")
    var random = Seeded(seed)
    let (limit, perUser) = (random.number(1..<40), random.number(1..<6))
    var places = WaitingPlaces(limit: limit, perUser: perUser)
    var waiting: [Int: (account: Int, user: Int64)] = [:]
    for _ in 0..<2_000 {
      if random.chance(0.45), let ticket = waiting.keys.sorted().randomElement(using: &random) {
        places.free(ticket)
        waiting[ticket] = nil
        continue
      }
      let user = Int64(random.number(0..<30))
      let account = Int(user % 5)
      let (ofUser, ofAccount) = (
        waiting.values.count { $0.user == user }, waiting.values.count { $0.account == account }
      )
      switch places.admit(place("\(account)", user)) {
      case .waits(let ticket):
        waiting[ticket] = (account, user)
        #expect(waiting.count <= limit && ofUser < perUser, "seed \(seed)")
      case .refused:
        // Somebody has taken what is refused: the user, the account or all.
        #expect(
          ofUser == perUser || waiting.count == limit || ofAccount > 0 && waiting.count >= limit / 2, "seed \(seed)")
      }
    }
  }
}
