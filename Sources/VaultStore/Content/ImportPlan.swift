import CipherSQL

/// The mapping from the columns of a file to the fields of an entity.
public struct ImportPlan: Sendable {
  /// The fields and the columns that fill them. A field is a name such as `temperature`, or names a reference by a
  /// column of the referenced record, such as `roomId.title`. With a mapping, columns without a field are ignored;
  /// without one they are refused.
  public var mapping: [(field: String, column: String)] = []
  /// Values that every record receives.
  public var constants: [(field: String, value: String)] = []
  /// A text that means a missing value, in addition to the empty text.
  public var nullText: String?
  /// Whether invalid rows are skipped. If `false`, an invalid row refuses the file.
  public var skipsInvalid = false

  /// Creates a plan in which columns fill the fields of the same name and an invalid row refuses the file.
  public init() {}
}

/// A row that was not imported.
public struct ImportProblem: Sendable, Hashable {
  /// The line of the file, counted from 1.
  public let line: Int
  /// The field at fault, if known.
  public let field: String?
  /// The description of the problem.
  public let message: String
}

/// The result of an import.
public struct ImportResult: Sendable, Hashable {
  /// The number of imported records.
  public var imported = 0
  /// The number of skipped rows.
  public var skipped = 0
  /// The columns of the file, or members of its objects, that fill no field and were ignored because of the
  /// mapping.
  public var ignoredColumns: [String] = []
  /// The invalid rows, at most the first 1,000.
  public var problems: [ImportProblem] = []
  /// The total number of problems.
  public var problemCount = 0

  mutating func add(_ problem: ImportProblem) {
    problemCount += 1
    if problems.count < 1000 { problems.append(problem) }
  }
}

/// A refused import. No record of the file is in the vault.
public struct ImportRefused: Error, Sendable {
  /// The result with the invalid rows.
  public let result: ImportResult
}
