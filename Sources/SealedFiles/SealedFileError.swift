import VaultKeys

/// An error of an encrypted file. Neither `message` nor `hint` contains a key or a byte of the content.
package struct SealedFileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure.
  package enum Code: String, Sendable {
    // Errors of the content of the file.

    /// The file does not begin as an encrypted file does.
    case notSealed
    /// The file is whole at its beginning, and of a format that this program does not know.
    case newerFormat
    /// The file belongs to another content, or to another variant of this content.
    case otherContent
    /// Writing the file was not finished.
    case unfinished
    /// The end is missing.
    case truncated
    /// Something follows the end.
    case appended
    /// A part of this file is at the position of another part.
    case misplaced
    /// A part of the file fails its authentication, or the key is wrong.
    case damaged

    // Errors of the caller.

    /// The content's name is no UUID.
    case badIdentity
    /// The key is not 32 bytes long.
    case badKey
    /// A range beyond the end of the content.
    case badRange

    // Files and memory.

    /// There is no such file.
    case notFound
    /// The file cannot be opened or read.
    case unreadable
    /// The file cannot be written.
    case cannotWrite
    /// No space is left for the file.
    case noSpace
    /// Something of that name exists and is not overwritten.
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

  /// The message, then the hint in brackets.
  package var description: String { "\(message) (\(hint))" }
}
