import Platform
import VaultKeys

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An error of an encrypted file. Neither `message` nor `hint` contains a key or a byte of the content.
package struct SealedFileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure.
  package enum Code: String, Sendable {
    // Errors of the content of the file.

    /// The file does not begin like an encrypted file.
    case notSealed
    /// The header is intact, but has a format that this program does not support.
    case newerFormat
    /// The file belongs to another content, or to another variant of this content.
    case otherContent
    /// Writing the file was not finished.
    case unfinished
    /// The end of the file is missing.
    case truncated
    /// The file has extra bytes at its end.
    case appended
    /// A part of this file is at the position of another part.
    case misplaced
    /// A part of the file fails its authentication, or the key is wrong.
    case damaged

    // Errors of the caller.

    /// The content's name is not a UUID.
    case badIdentity
    /// The key is not 32 bytes long.
    case badKey
    /// A range beyond the end of the content.
    case badRange

    // Files and memory.

    /// The file does not exist.
    case notFound
    /// The file cannot be opened or read.
    case unreadable
    /// The file cannot be written.
    case cannotWrite
    /// The disk or the quota is full.
    case noSpace
    /// A file of that name exists and is not overwritten.
    case alreadyExists
    /// Not enough memory.
    case outOfMemory
  }

  /// The kind of failure.
  package let code: Code
  /// One sentence that names the file.
  package let message: String
  /// The remedy.
  package let hint: String

  init(_ code: Code, _ message: String, hint: String) {
    (self.code, self.message, self.hint) = (code, message, hint)
  }

  /// The message, followed by the hint in parentheses.
  package var description: String { "\(message) (\(hint))" }
}

extension SealedFileError {
  /// The content of a file fails its authentication.
  static func content(_ code: Code, _ path: String, _ what: String) -> SealedFileError {
    let hint =
      switch code {
      case .newerFormat: "use a newer version of the program"
      case .otherContent: "restore the right file from a backup, or download it again"
      default: "download the file again, or restore it from a backup"
      }
    return SealedFileError(code, "\(path): \(what)", hint: hint)
  }

  /// A file could not be opened or read.
  static func reading(_ path: String, _ failure: Descriptor.Failure) -> SealedFileError {
    switch failure.number {
    case ENOENT, ENOTDIR:
      SealedFileError(.notFound, "\(path): no such file", hint: "check the path")
    default:
      SealedFileError(.unreadable, "\(path): \(failure.text)", hint: "check the disk and the permissions of the file")
    }
  }

  /// A file could not be created or written.
  static func writing(_ path: String, _ failure: Descriptor.Failure) -> SealedFileError {
    switch failure.number {
    case EEXIST:
      SealedFileError(.alreadyExists, "\(path): already exists and is not overwritten", hint: "choose another name")
    case ENOSPC, EDQUOT:
      SealedFileError(.noSpace, "\(path): \(failure.text)", hint: "free some space and try again")
    default:
      SealedFileError(.cannotWrite, "\(path): \(failure.text)", hint: "check the folder and its permissions")
    }
  }

  /// Guarded memory could not be allocated.
  static func memory(_ error: KeyError) -> SealedFileError {
    SealedFileError(.outOfMemory, error.message, hint: error.hint)
  }
}
