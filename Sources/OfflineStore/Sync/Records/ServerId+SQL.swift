import CipherSQL
import SyncModel

extension ServerId {
  /// An id as a row has it; nil for NULL.
  init?(_ argument: SQLArgument) {
    switch argument {
    case .integer(let number): self = .integer(number)
    case .text(let text): self = .text(text)
    case .null, .real, .blob: return nil
    }
  }

  /// The id as a row has it.
  package var sqlArgument: SQLArgument {
    switch self {
    case .integer(let number): .integer(number)
    case .text(let text): .text(text)
    }
  }
}
