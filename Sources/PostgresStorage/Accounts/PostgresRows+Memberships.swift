import ServerStorage

extension PostgresRows {
  func memberships(of holders: [String]) throws -> [Membership] {
    try run(Self.membershipsByHolder(account, .texts(holders))).map(Membership.init)
  }

  private static let membershipsByHolder = Statement(
    """
    SELECT source, holder, project, is_member, sequence FROM fieldvault.membership
    WHERE account_id = $1::uuid AND holder = ANY ($2::text[])
    """)

  func memberships(of projects: [String], holders: [String]) throws -> [Membership] {
    if projects.isEmpty { return [] }
    return try run(Self.membershipsByProject(account, .texts(projects), .texts(holders))).map(Membership.init)
  }

  private static let membershipsByProject = Statement(
    """
    SELECT found.* FROM unnest($2::text[]) AS wanted (project)
    CROSS JOIN LATERAL (
      SELECT source, holder, project, is_member, sequence FROM fieldvault.membership AS own
      WHERE own.account_id = $1::uuid AND own.project = wanted.project AND own.source = wanted.project
      UNION ALL
      SELECT source, holder, project, is_member, sequence FROM fieldvault.membership AS held
      WHERE held.account_id = $1::uuid AND held.project = wanted.project AND held.holder = ANY ($3::text[])
        AND held.source <> wanted.project) AS found
    """)

  func changes(of projects: Set<String>, in numbers: ClosedRange<Int64>, limit: Int, weight: Int) throws -> ChangeRows {
    try changes(limit: limit, weight: weight, after: numbers.lowerBound) { sequence, limit in
      Self.changesOfProjects(
        account, .integer(sequence), .integer(numbers.upperBound), .texts(projects.sorted()), .integer(limit))
    }
  }

  private static let changesOfProjects = Statement(
    """
    SELECT \(ChangedRecord.columns("record")) FROM fieldvault.record AS record
    WHERE account_id = $1::uuid AND sequence > $2::bigint AND sequence <= $3::bigint AND project = ANY ($4::text[])
    ORDER BY sequence LIMIT $5::bigint
    """)
}

extension Membership {
  fileprivate init(_ row: PostgresRow) {
    self.init(
      Key(source: row.text(0), holder: row.text(1), project: row.text(2)), isMember: row.flag(3),
      sequence: row.integer(4))
  }
}
