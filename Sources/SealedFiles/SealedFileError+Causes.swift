import Platform
import VaultKeys

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension SealedFileError {
  /// The content of a file fails its authentication.
  static func content(_ code: Code, _ path: String, _ what: String) -> SealedFileError {
    let hint =
      switch code {
      case .newerFormat: "use a newer version of the program"
      case .otherContent: "put the right file back from a backup, or fetch it again"
      default: "fetch the file again, or put it back from a backup"
      }
    return SealedFileError(code, "\(path): \(what)", hint: hint)
  }

  /// A file could not be opened or read.
  static func reading(_ path: String, _ failure: Descriptor.Failure) -> SealedFileError {
    switch failure.number {
    case ENOENT, ENOTDIR:
      SealedFileError(.notFound, "\(path): there is no such file", hint: "check the path")
    default:
      SealedFileError(.unreadable, "\(path): \(failure.text)", hint: "check the disk and who may read the file")
    }
  }

  /// A file could not be made or written.
  static func writing(_ path: String, _ failure: Descriptor.Failure) -> SealedFileError {
    switch failure.number {
    case EEXIST:
      SealedFileError(.alreadyExists, "\(path): exists already, and is not overwritten", hint: "choose another name")
    case ENOSPC, EDQUOT:
      SealedFileError(.noSpace, "\(path): \(failure.text)", hint: "make room and try again")
    default:
      SealedFileError(.cannotWrite, "\(path): \(failure.text)", hint: "check the folder and who may write to it")
    }
  }

  /// Guarded memory could not be had.
  static func memory(_ error: KeyError) -> SealedFileError {
    SealedFileError(.outOfMemory, error.message, hint: error.hint)
  }
}
