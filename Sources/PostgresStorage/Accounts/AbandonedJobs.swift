import ServerStorage

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
    ORDER BY job.account_id, job.number DESC
    """)
}

extension AbandonedJobs.Place {
  init(_ row: PostgresRow) {
    self.init(number: row.integer(2), reference: row.integer(3), after: row.optionalText(4))
  }
}
