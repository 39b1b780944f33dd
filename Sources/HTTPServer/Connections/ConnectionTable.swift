/// The connections of a server and which of them to close, as a value without sockets and clock.
///
/// A connection waits until the header of a request is complete, its TLS handshake included. The wait has a deadline,
/// because otherwise every byte would extend it. The number of waiting connections without a valid token is limited, in
/// total and per address: a new connection replaces the oldest one.
struct ConnectionTable {
  /// The limits of connections.
  struct Limits: Equatable {
    /// The time in which a new connection has to complete the header of its first request.
    var header: Duration
    /// The time from the end of a request to the end of the header of the next one.
    var pause: Duration
    /// The greatest number of waiting connections without a valid token from one address.
    var strangersPerAddress: Int
    var strangers: Int
  }

  private struct Entry {
    let address: UInt64
    /// Whether the connection waits for a header.
    var isWaiting = false
    var deadline: ContinuousClock.Instant
    /// Whether a request on the connection had a valid token.
    var isKnown = false
  }

  private let limits: Limits
  private var entries: [UInt: Entry] = [:]
  /// The connections without a valid token that wait, by address, the oldest first.
  private var strangers: [UInt64: [UInt]] = [:]
  private var strangerCount = 0

  init(_ limits: Limits) { self.limits = limits }

  var count: Int { entries.count }

  /// Adds an accepted connection.
  /// - Returns: the connections to close.
  mutating func opened(_ id: UInt, from address: UInt64, at now: ContinuousClock.Instant) -> [UInt] {
    entries[id] = Entry(address: address, deadline: now)
    return wait(id, until: now + limits.header)
  }

  /// Notes that the header of a request is complete.
  mutating func began(_ id: UInt) { stopWaiting(id) }

  /// Notes that a request has ended.
  /// - Returns: the connections to close.
  mutating func ended(_ id: UInt, isKnown: Bool, at now: ContinuousClock.Instant) -> [UInt] {
    if isKnown { entries[id]?.isKnown = true }
    return wait(id, until: now + limits.pause)
  }

  /// Removes a closed connection.
  mutating func closed(_ id: UInt) {
    stopWaiting(id)
    entries[id] = nil
  }

  /// Returns the connections that have waited too long, each once.
  mutating func expired(at now: ContinuousClock.Instant) -> [UInt] {
    let late = entries.filter { $0.value.isWaiting && $0.value.deadline <= now }.map(\.key)
    for id in late { stopWaiting(id) }
    return late
  }

  private mutating func wait(_ id: UInt, until deadline: ContinuousClock.Instant) -> [UInt] {
    guard let entry = entries[id] else { return [] }
    let closing = entry.isKnown ? [] : closeExcess(entry.address)
    entries[id]?.isWaiting = true
    entries[id]?.deadline = deadline
    guard !entry.isKnown else { return [] }
    strangers[entry.address, default: []].append(id)
    strangerCount += 1
    return closing
  }

  /// Closes the oldest waiting connection without a valid token if their number exceeds the limit: a connection of the
  /// same address, or of the address with the most. Therefore many connections of one client never close connections of
  /// other clients.
  private mutating func closeExcess(_ address: UInt64) -> [UInt] {
    var crowd: [UInt]?
    if let own = strangers[address], own.count >= limits.strangersPerAddress {
      crowd = own
    } else if strangerCount >= limits.strangers {
      crowd = strangers.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }?.value
    }
    guard let oldest = crowd?.first else { return [] }
    stopWaiting(oldest)
    return [oldest]
  }

  private mutating func stopWaiting(_ id: UInt) {
    guard let entry = entries[id], entry.isWaiting else { return }
    entries[id]?.isWaiting = false
    guard let index = strangers[entry.address]?.firstIndex(of: id) else { return }
    strangers[entry.address]?.remove(at: index)
    if strangers[entry.address]?.isEmpty == true { strangers[entry.address] = nil }
    strangerCount -= 1
  }
}
