import CipherSQL
import SyncModel

extension ServerId {
  /// Creates the id from the value of a row; `nil` for NULL.
  package init?(_ argument: SQLArgument) {
    switch argument {
    case .integer(let number): self = .integer(number)
    case .text(let text): self = .text(text)
    case .null, .real, .blob: return nil
    }
  }

  /// The value of the id in a row.
  package var sqlArgument: SQLArgument {
    switch self {
    case .integer(let number): .integer(number)
    case .text(let text): .text(text)
    }
  }
}
