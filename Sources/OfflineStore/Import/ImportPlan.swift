import CipherSQL

/// How the columns of a file fill the fields of an entity.
public struct ImportPlan: Sendable {
  /// Which column fills which field: `temperature` or, for a reference by a column of the other record,
  /// `roomId.title`. With a mapping, columns that have no field are left out; without one they are refused.
  public var mapping: [(field: String, column: String)] = []
  /// Values for every record.
  public var constants: [(field: String, value: String)] = []
  /// The text that means a missing value, beside the empty one.
  public var nullText: String?
  /// Leaves out rows that cannot be taken instead of refusing the file.
  public var skipsInvalid = false

  /// Columns fill the fields of the same name, and a row that cannot be taken refuses the file.
  public init() {}
}

/// A row that was not taken.
public struct ImportProblem: Sendable, Hashable {
  /// The line of the file, counted from 1.
  public let line: Int
  /// The field, where one is to blame.
  public let field: String?
  /// What would be right.
  public let message: String
}

/// What an import did.
public struct ImportResult: Sendable, Hashable {
  /// How many records were made.
  public var imported = 0
  /// How many rows were left out.
  public var skipped = 0
  /// The columns of the file, or members of its objects, that fill no field and that the mapping left out.
  public var ignoredColumns: [String] = []
  /// The rows that were left out or that stood in the way, the first thousand of them.
  public var problems: [ImportProblem] = []
  /// How many problems there were in all.
  public var problemCount = 0

  mutating func add(_ problem: ImportProblem) {
    problemCount += 1
    if problems.count < 1000 { problems.append(problem) }
  }
}

/// An import that was refused: nothing of it is in the vault.
public struct ImportRefused: Error, Sendable {
  /// The rows that stood in the way.
  public let result: ImportResult
}
