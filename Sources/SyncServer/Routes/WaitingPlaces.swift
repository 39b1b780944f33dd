/// The requests that wait for a change. Few of them must not keep others from waiting.
struct WaitingPlaces: Sendable {
  /// A request that waits.
  struct Place: Equatable, Sendable {
    let account: String
    let user: Int64
    /// When it ends at the latest.
    let end: ContinuousClock.Instant
  }

  /// The greatest number of requests that wait at the same time.
  var limit: Int
  /// The greatest number of one user.
  var limitPerUser: Int

  private var places: [Int: Place] = [:]
  /// The number of requests that wait.
  var count: Int { places.count }
  /// Returns the number of requests of an account that wait.
  func count(of account: String) -> Int { byAccount[account] ?? 0 }
  private var byUser: [Int64: Int] = [:]
  private var byAccount: [String: Int] = [:]
  private var lastTicket = 0

  init(limit: Int, perUser: Int) { (self.limit, limitPerUser) = (limit, perUser) }

  /// The result of a request for a place.
  enum Admission: Equatable, Sendable {
    /// The request waits, and gives the place back under this number.
    case waits(ticket: Int)
    /// A place becomes free at this time.
    case refused(until: ContinuousClock.Instant)
  }

  /// Gives a place to a request.
  ///
  /// While half of the places are free, an account may take any of them. Then it may have only an equal share, with one more
  /// account than wait now, so that a place is left for that account.
  mutating func admit(_ place: Place) -> Admission {
    let ofAccount = byAccount[place.account] ?? 0
    let accounts = byAccount.count + (ofAccount == 0 ? 1 : 0)
    if (byUser[place.user] ?? 0) >= limitPerUser { return refuse(place) { $0.user == place.user } }
    if places.count >= limit { return refuse(place) { _ in true } }
    if places.count >= limit / 2, ofAccount >= max(1, limit / (accounts + 1)) {
      return refuse(place) { $0.account == place.account }
    }
    lastTicket += 1
    places[lastTicket] = place
    byUser[place.user, default: 0] += 1
    byAccount[place.account, default: 0] += 1
    return .waits(ticket: lastTicket)
  }

  /// Frees a place.
  mutating func free(_ ticket: Int) {
    guard let place = places.removeValue(forKey: ticket) else { return }
    byUser[place.user] = byUser[place.user].flatMap { $0 > 1 ? $0 - 1 : nil }
    byAccount[place.account] = byAccount[place.account].flatMap { $0 > 1 ? $0 - 1 : nil }
  }

  private func refuse(_ place: Place, _ isOfScope: (Place) -> Bool) -> Admission {
    .refused(until: places.values.filter(isOfScope).map(\.end).min() ?? place.end)
  }
}
