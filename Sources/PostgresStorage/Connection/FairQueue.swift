/// Decides which waiting transaction gets the next connection: the lanes take turns, and each lane has a limit, so that an
/// account with many requests delays no other account. The writes of an account are a lane, for example.
struct FairQueue<Lane: Hashable & Sendable>: Sendable {
  /// The number of connections.
  let capacity: Int
  private let limit: @Sendable (Lane) -> Int
  private var waiting: [Lane: [Int]] = [:]
  /// The lanes with waiting transactions; the next one first.
  private var order: [Lane] = []
  private var running: [Lane: Int] = [:]
  /// The number of transactions that have a connection.
  private(set) var total = 0

  /// - Parameters:
  ///   - capacity: the number of connections.
  ///   - limit: the number of connections that a lane may have at once.
  init(capacity: Int, limit: @escaping @Sendable (Lane) -> Int) { (self.capacity, self.limit) = (capacity, limit) }

  /// Adds a transaction.
  mutating func add(_ ticket: Int, to lane: Lane) {
    if waiting[lane] == nil { order.append(lane) }
    waiting[lane, default: []].append(ticket)
  }

  /// Removes a transaction that no longer waits. Returns whether it was waiting.
  mutating func remove(_ ticket: Int, from lane: Lane) -> Bool {
    guard let place = waiting[lane]?.firstIndex(of: ticket) else { return false }
    waiting[lane]?.remove(at: place)
    forgetIfEmpty(lane)
    return true
  }

  /// Returns the transaction that gets a connection now; `nil` if none can have one.
  mutating func next() -> Int? {
    guard total < capacity,
      let place = order.firstIndex(where: { running[$0, default: 0] < limit($0) })
    else { return nil }
    let lane = order.remove(at: place)
    order.append(lane)
    let ticket = waiting[lane]?.removeFirst()
    forgetIfEmpty(lane)
    running[lane, default: 0] += 1
    total += 1
    return ticket
  }

  /// Notes that a transaction of a lane has ended.
  mutating func finish(_ lane: Lane) {
    total -= 1
    let left = running[lane, default: 1] - 1
    running[lane] = left == 0 ? nil : left
  }

  private mutating func forgetIfEmpty(_ lane: Lane) {
    guard waiting[lane]?.isEmpty == true else { return }
    waiting[lane] = nil
    order.removeAll { $0 == lane }
  }
}
