import Platform
import ServerStorage

/// Does the jobs of accounts in the background.
final class AccountJobs: Sendable {
  private final class Account: JobOwner {
    private let tell: @Sendable (CommittedChanges) -> Void
    private let work: @Sendable () async throws -> (changes: CommittedChanges?, hasJobs: Bool)

    init(
      announce: @escaping @Sendable (CommittedChanges) -> Void,
      work: @escaping @Sendable () async throws -> (changes: CommittedChanges?, hasJobs: Bool)
    ) { (tell, self.work) = (announce, work) }

    func doJob() async throws -> (changes: CommittedChanges?, hasJobs: Bool) { try await work() }
    func announce(_ changes: CommittedChanges) { tell(changes) }
  }

  private struct State {
    var isClosed = false
    var accounts: [AccountName: (owner: Account, runner: JobRunner)] = [:]
  }

  private let state = Locked(State())
  private let clock: Clock
  private let log: @Sendable (String) -> Void

  init(clock: Clock, log: @escaping @Sendable (String) -> Void) { (self.clock, self.log) = (clock, log) }

  /// Starts the jobs of an account, unless they are running.
  /// - Parameters:
  ///   - announce: tells all nodes of changes of the account.
  ///   - work: runs one transaction.
  func start(
    _ account: AccountName, announce: @escaping @Sendable (CommittedChanges) -> Void,
    work: @escaping @Sendable () async throws -> (changes: CommittedChanges?, hasJobs: Bool)
  ) {
    let found = state.withLock { state -> (owner: Account, runner: JobRunner)? in
      if state.isClosed { return nil }
      if let known = state.accounts[account] { return known }
      let new = (Account(announce: announce, work: work), JobRunner(clock: clock, log: log))
      state.accounts[account] = new
      return new
    }
    if let found { found.runner.start(for: found.owner) }
  }

  /// Starts no further transaction.
  func close() {
    let runners = state.withLock { state in
      state.isClosed = true
      defer { state.accounts = [:] }
      return state.accounts.values.map(\.runner)
    }
    for runner in runners { runner.close() }
  }
}

/// Finds the jobs of nodes that have ended: those that no transaction has moved between two looks.
struct AbandonedJobs {
  /// How far the jobs of an account are.
  struct Place: Equatable, Sendable {
    /// The number of the last job, which is done first.
    let number: Int64
    let reference: Int64
    let after: String?
  }

  private var known: [AccountName: Place] = [:]

  /// The time between two looks. A transaction of jobs is shorter.
  static let interval = Duration.seconds(10)

  /// Takes the places of all accounts with jobs.
  /// - Returns: the accounts whose jobs are where the look before has seen them.
  mutating func look(at places: [AccountName: Place]) -> [AccountName] {
    defer { known = places }
    return places.filter { known[$0.key] == $0.value }.map(\.key)
  }

  /// Selects the places of all accounts with jobs.
  static let places = Statement(
    """
    SELECT DISTINCT ON (job.account_id) account.name, replace(job.account_id::text, '-', ''), job.number, job.reference,
      job.after
    FROM fieldvault.job AS job JOIN fieldvault.account AS account USING (account_id)
    WHERE account.deleted_at IS NULL
    ORDER BY job.account_id, job.number DESC
    """)
}

extension AbandonedJobs.Place {
  init(_ row: PostgresRow) {
    self.init(number: row.integer(2), reference: row.integer(3), after: row.optionalText(4))
  }
}

extension AccountJob {
  init(_ row: PostgresRow) {
    self.init(
      number: row.integer(0), kind: Kind(rawValue: row.text(1)) ?? .cascade,
      name: RecordName(row.text(2), row.text(3)), reference: Int(row.integer(4)), after: row.optionalText(5),
      time: row.integer(6))
  }
}
