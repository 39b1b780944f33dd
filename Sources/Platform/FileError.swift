#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An error of a file or folder.
public struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of an error. New kinds may be added: compare with `==` and have a default branch.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the kind, such as `noSpace`.
    public let rawValue: String
    /// Creates the kind with a name. Any name is accepted.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The file or folder does not exist or cannot be read.
    public static let unreadable = Code(rawValue: "unreadable")
    /// The file or folder cannot be written.
    public static let cannotWrite = Code(rawValue: "cannotWrite")
    /// The file system has no space left.
    public static let noSpace = Code(rawValue: "noSpace")
    /// The file is written, but its folder could not be flushed. A power failure may restore the old file.
    public static let notDurable = Code(rawValue: "notDurable")
  }

  /// The kind of the error.
  public let code: Code
  /// The failure, the path and the reason.
  public let message: String
  /// The path of the file or folder.
  public let path: String
  /// The value of `errno`; 0 if no system call failed.
  public let number: Int32

  /// The remedy, if it is known.
  public var hint: String? {
    switch (number, code) {
    case (ENOENT, _), (ENOTDIR, _): "check the path"
    case (_, .noSpace): "free some space and try again"
    case (_, .notDurable): "check the disk; a power failure may restore the old file"
    case (_, .unreadable): number == 0 ? "check the path" : "check the disk and the permissions"
    case (EACCES, _), (EPERM, _), (EROFS, _): "check the permissions of the folder, or choose another folder"
    default: nil
    }
  }

  /// The message, followed by the hint in parentheses.
  public var description: String { hint.map { "\(message) (\($0))" } ?? message }

  /// Creates the error of a failed system call.
  /// - Parameter action: the failed action, such as "create".
  package init(_ action: String, _ path: String, _ failure: Descriptor.Failure) {
    code =
      switch failure.number {
      case ENOENT, ENOTDIR: .unreadable
      case ENOSPC, EDQUOT: .noSpace
      default: .cannotWrite
      }
    (message, self.path, number) = ("cannot \(action) \(path): \(failure.text)", path, failure.number)
  }

  /// Creates an error from a code and a message.
  package init(_ code: Code, _ message: String, path: String, number: Int32 = 0) {
    (self.code, self.message, self.path, self.number) = (code, message, path, number)
  }

  /// Returns the error of the system call that has just failed.
  package static func last(_ action: String, _ path: String) -> FileError { FileError(action, path, .last) }

  /// Returns the error of a failed system call that reads a file.
  package static func unreadable(_ path: String, _ failure: Descriptor.Failure = .last) -> FileError {
    FileError(.unreadable, "cannot read \(path): \(failure.text)", path: path, number: failure.number)
  }
}
