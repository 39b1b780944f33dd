import Platform
import ServerStorage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Tells the nodes of a server of each other's changes.
///
/// A notification follows its commit on another connection, because PostgreSQL lets only one transaction with notifications
/// commit at a time. Changes that come meanwhile share the next one. A notification can be lost, so a query every few seconds
/// finds missed changes.
final class ChangeChannel: Sendable {
  private struct State {
    var isClosed = false
    /// The changes that have to be announced, by the folder of the account.
    var unannounced: [String: CommittedChanges] = [:]
    var isAnnouncing = false
    /// The last known change of accounts with waiting requests, by folder.
    var lastSequences: [String: Int64] = [:]
  }

  private let state = Locked(State())
  private let database: PostgresDatabase
  private let waiters: AccountWaiters
  private let committed: @Sendable (AccountName, CommittedChanges) -> Void
  private let log: @Sendable (String) -> Void
  private let queue = WorkQueue("changes of other nodes")
  private let polling = Locked<Task<Void, any Error>?>(nil)
  /// A node passes over its own notifications.
  private let node: String

  /// - Parameter committed: is told of the changes of this node.
  init(
    _ database: PostgresDatabase, _ waiters: AccountWaiters,
    committed: @escaping @Sendable (AccountName, CommittedChanges) -> Void, log: @escaping @Sendable (String) -> Void
  ) {
    (self.database, self.waiters, self.committed, self.log) = (database, waiters, committed, log)
    node = database.environment.uuids.next().sqlText
  }

  /// Starts listening and polling, which run until ``close()``.
  func start() {
    let task = startTask { [weak self, clock = database.environment.clock] in
      while true {
        try await clock.sleep(Self.pollInterval)
        guard let self else { return }
        await poll()
      }
    }
    polling.withLock { $0 = task }
    // A simulation has one thread, which polls.
    if !PreferredExecutor.isSingleThread { queue.add { [weak self] in self?.listen() } }
  }

  private static let pollInterval = Duration.seconds(5)

  /// Ends listening and polling.
  func close() {
    state.withLock { $0.isClosed = true }
    polling.withLock { $0 }?.cancel()
  }

  private var isClosed: Bool { state.withLock { $0.isClosed } }

  // MARK: Announcing

  private static let notify = Statement("SELECT pg_notify('fieldvault', $1::text)")

  /// The text of a notification that tokens or users have changed.
  static let tokensChanged = "tokens"

  /// Returns the statement that notifies all nodes.
  static func notification(of text: String) -> Statement.Command { notify(.text(text)) }

  /// Wakes the requests that wait for a change of an account, on all nodes.
  func announce(_ account: AccountName, _ changes: CommittedChanges) {
    waiters.tell(changes, folder: account.folder)
    committed(account, changes)
    let isToStart = state.withLock { state in
      state.unannounced[account.folder] = changes.union(state.unannounced[account.folder])
      defer { state.isAnnouncing = true }
      return !state.isAnnouncing && !state.isClosed
    }
    if isToStart { startTask { await self.announceAll() } }
  }

  private func announceAll() async {
    while true {
      let text = state.withLock { state in
        let text = ChangeNotification.take(from: &state.unannounced, of: node)
        if text == nil { state.isAnnouncing = false }
        return text
      }
      guard let text else { return }
      do {
        _ = try await database.transaction(.other) { connection in try connection.run(Self.notification(of: text)).count
        }
      } catch {
        log("other nodes learn of a change only by their next query: \(error)")
      }
    }
  }

  // MARK: Listening

  private static let listenStatement = Statement("LISTEN fieldvault")
  private static let wakeInterval = Duration.milliseconds(200)

  private func listen() {
    var pause = Duration.milliseconds(100)
    var isFailing = false
    while !isClosed {
      do {
        let connection = try PostgresConnection(
          database.settings, clock: database.environment.clock, url: database.settings.listenURL)
        _ = try connection.run(Self.listenStatement())
        database.tokens.clear(isListening: true)
        waiters.setTold(true)
        // Changes from before the connection listened.
        startTask { [weak self] in await self?.poll() }
        (pause, isFailing) = (.milliseconds(100), false)
        while !isClosed {
          for text in try connection.notifications(waitingAtMost: Self.wakeInterval) { receive(text) }
        }
      } catch {
        database.tokens.clear(isListening: false)
        waiters.setTold(false)
        if !isFailing { log("notifications of other nodes are interrupted: \(error)") }
        isFailing = true
        usleep(UInt32(pause / .microseconds(1)))
        pause = min(pause * 2, .seconds(2))
      }
    }
  }

  private func receive(_ text: String) {
    if text == Self.tokensChanged { return database.tokens.clear() }
    guard let notification = ChangeNotification(text), notification.node != node else { return }
    for (folder, changes) in notification.changes { waiters.tell(changes, folder: folder) }
  }

  // MARK: Polling

  private static let sequences = Statement(
    """
    SELECT replace(account_id::text, '-', ''), last_sequence, epoch_start FROM fieldvault.account
    WHERE account_id = ANY ($1::text[]::uuid[])
    """)

  /// The number of changes of an account between two queries after which all of its devices are told.
  private static let mostChanges: Int64 = 1_000

  /// The last change of each project, and of the memberships of each holder, after a number.
  private static let projects = Statement(
    """
    SELECT replace(known.account_id::text, '-', ''), found.project, found.last, found.count
    FROM unnest($1::text[]::uuid[], $2::text[]::bigint[]) AS known (account_id, last)
    CROSS JOIN LATERAL (
      SELECT project, max(sequence) AS last, count(*) AS count FROM (
        (SELECT project, sequence FROM fieldvault.record
        WHERE account_id = known.account_id AND sequence > known.last ORDER BY sequence LIMIT \(mostChanges))
        UNION ALL
        (SELECT holder, sequence FROM fieldvault.membership
        WHERE account_id = known.account_id AND sequence > known.last ORDER BY sequence LIMIT \(mostChanges))
      ) AS changed GROUP BY project
    ) AS found
    """)

  private struct Position: Sendable {
    let folder: String
    let last: Int64
    let epochStart: Int64
  }

  /// Finds changes whose notification was lost. The cost grows with the changes, not with the requests that wait.
  private func poll() async {
    let folders = waiters.waitingAccounts.map(\.folder)
    if folders.isEmpty { return }
    do {
      let found = try await database.transaction(.other) { connection in
        try connection.run(Self.sequences(.texts(folders))).map {
          Position(folder: $0.text(0), last: $0.integer(1), epochStart: $0.integer(2))
        }
      }
      let before = state.withLock { state in
        defer { state.lastSequences = Dictionary(found.map { ($0.folder, $0.last) }, uniquingKeysWith: { $1 }) }
        return state.lastSequences
      }
      var changed: [(position: Position, after: Int64)] = []
      for position in found {
        guard let after = before[position.folder] else {
          // Requests have waited since an unknown number.
          waiters.letLook(folder: position.folder)
          continue
        }
        if position.epochStart > after {
          waiters.tell(CommittedChanges(epochAt: position.last), folder: position.folder)
        } else if position.last > after, !waiters.hasTold(after + 1...position.last, folder: position.folder) {
          changed.append((position, after))
        }
      }
      if changed.isEmpty { return }
      let (accounts, numbers) = (changed.map(\.position.folder), changed.map { String($0.after) })
      let changes = try await database.transaction(.other) { connection in
        try connection.run(Self.projects(.texts(accounts), .texts(numbers))).map {
          (folder: $0.text(0), project: $0.optionalText(1), last: $0.integer(2), count: $0.integer(3))
        }
      }
      for (folder, rows) in Dictionary(grouping: changes, by: \.folder) {
        if rows.map(\.count).reduce(0, +) >= Self.mostChanges {
          waiters.letLook(folder: folder)
          continue
        }
        for row in rows {
          waiters.tell(
            CommittedChanges(row.last...row.last, projects: row.project.map { [$0] }), folder: folder)
        }
      }
    } catch {
      if !isClosed { log("cannot look for changes of other nodes: \(error)") }
    }
  }
}

/// The text by which a node tells others of changes: the node, then for each account its folder, the numbers of its first and
/// last change, the device that made the changes, and the projects with the holders of changed memberships, or `*` if the changes concern all devices, or `!` if they
/// begin an epoch. The device is empty if it is unknown. `NODE,ACCOUNT:FIRST:LAST:DEVICE:*,ACCOUNT:FIRST:LAST:DEVICE:PROJECT`
struct ChangeNotification: Equatable {
  let node: String
  let changes: [String: CommittedChanges]

  /// PostgreSQL accepts fewer than 8,000 bytes.
  static let greatestLength = 7_900
  /// Changes of more projects concern all devices.
  static let mostProjects = 20
  private static let (all, epoch) = ("*", "!")

  /// Parses a text; `nil` for a text of another form.
  init?(_ text: String) {
    let parts = text.split(separator: ",")
    guard let node = parts.first else { return nil }
    self.node = String(node)
    var changes: [String: CommittedChanges] = [:]
    for part in parts.dropFirst() {
      let words = part.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      guard words.count >= 4, let first = Int64(words[1]), let last = Int64(words[2]), first <= last else { return nil }
      let projects = Set(words.dropFirst(4))
      changes[words[0]] =
        projects.contains(Self.epoch)
        ? CommittedChanges(epochAt: last)
        : CommittedChanges(
          first...last, projects: projects.contains(Self.all) ? nil : projects,
          author: words[3].isEmpty ? nil : words[3])
    }
    self.changes = changes
  }

  /// Moves as many changes as there is room for into a text.
  /// - Returns: `nil` without changes.
  static func take(from changes: inout [String: CommittedChanges], of node: String) -> String? {
    if changes.isEmpty { return nil }
    var text = node
    for (folder, change) in changes {
      // An id that is no UUID may have a separator in it.
      let author = change.author.flatMap { UUIDText.isCanonical($0) ? $0 : nil } ?? ""
      var words = [folder, String(change.numbers.lowerBound), String(change.last), author]
      if change.isNewEpoch {
        words.append(epoch)
      } else if let projects = change.projects, projects.count <= mostProjects {
        words += projects.sorted()
      } else {
        words.append(all)
      }
      let part = "," + words.joined(separator: ":")
      if text.utf8.count + part.utf8.count > greatestLength { break }
      text += part
      changes[folder] = nil
    }
    return text
  }
}
