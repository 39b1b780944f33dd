import Platform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension KeyError {
  /// A file could not be opened or read.
  static func reading(_ name: String, _ failure: Descriptor.Failure) -> KeyError {
    switch failure.number {
    case ENOENT, ENOTDIR:
      KeyError(.notFound, "\(name): no such file", hint: "check the path")
    default:
      KeyError(.unreadable, "\(name): \(failure.text)", hint: "check the path and the permissions")
    }
  }

  /// A file could not be written.
  static func writing(_ path: String, _ failure: Descriptor.Failure) -> KeyError {
    switch failure.number {
    case EEXIST:
      KeyError(.alreadyExists, "\(path): already exists and is not overwritten", hint: "choose another name")
    case ENOSPC, EDQUOT:
      KeyError(.noSpace, "\(path): \(failure.text)", hint: "free some space and try again")
    default:
      KeyError(.cannotWrite, "\(path): \(failure.text)", hint: "check the folder and its permissions")
    }
  }

  /// A small file could not be replaced or created.
  static func writing(_ error: FileError) -> KeyError {
    switch error.code {
    case .notDurable: KeyError(.cannotWrite, error.message, hint: error.hint ?? "check the disk")
    default: writing(error.path, Descriptor.Failure(number: error.number))
    }
  }
}

extension AtomicFile {
  /// Writes bytes of a key file, an exported key or a passphrase to a free path, with mode 0600, durably.
  ///
  /// - Throws: ``KeyError`` `alreadyExists`, `noSpace` or `cannotWrite`.
  package func createSecret(_ content: SecureBytes) throws(KeyError) {
    try content.withUnsafeBytes { bytes throws(KeyError) in
      do throws(FileError) { try create(bytes) } catch { throw .writing(error) }
    }
  }
}
