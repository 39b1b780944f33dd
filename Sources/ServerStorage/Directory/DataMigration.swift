import CipherSQL

/// The migration of one account, or of the tables that all accounts share.
public struct DataMigration: Sendable {
  /// The account; `nil` for the directory of a folder, or the tables of a database.
  public let account: AccountName?
  /// The applied files.
  public let files: [MigrationRecord]
  /// The reason why the files of the account could not be applied, which leaves the account unchanged; `nil` without a problem.
  public let problem: String?

  /// Creates a result.
  package init(account: AccountName?, files: [MigrationRecord], problem: String?) {
    (self.account, self.files, self.problem) = (account, files, problem)
  }
}
