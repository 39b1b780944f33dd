import CipherSQL
import HTTPServer
import Platform
import SchemaModel
import ServerStorage

extension HTTPProblem {
  /// Returns the problem of a failure of the machine, or of a deleted account, that affects any request: no operation has failed, so
  /// devices count no attempt. `nil` for other failures, such as an unreadable page, which fail the affected operation.
  package init?(ofMachine error: any Error) {
    switch error {
    case let error as SQLError:
      switch error.code {
      case .diskFull: self = .diskFull
      case .busy, .readOnly, .cannotOpen, .interrupted: self = .notNow
      case .inputOutput where !error.isOfReading: self = .notNow
      default: return nil
      }
    case let error as FileError:
      switch error.code {
      case .noSpace: self = .diskFull
      case .unreadable: return nil
      default: self = .notNow
      }
    case let error as VaultError:
      switch error.code {
      case .noSpace: self = .diskFull
      case .cannotWrite, .busy: self = .notNow
      default: return nil
      }
    case let error as ServerError where [.busy, .disk, .badSealKeys].contains(error.code): self = .notNow
    case let error as ServerError where error.code == .damaged: self = .accountUnavailable
    case let error as ServerError where error.code == .deleted: self = .invalidToken(error.message)
    case is CancellationError: self = .notNow
    default: return nil
    }
  }

  static let accountUnavailable = HTTPProblem(
    503, "The data of the account cannot be opened", "a file is missing or damaged; see the log of the server",
    retryAfter: 300)
}
