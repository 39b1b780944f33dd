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
      KeyError(.notFound, "\(name): there is no such file", hint: "check the path")
    default:
      KeyError(.unreadable, "\(name): \(failure.text)", hint: "check the path and who may read it")
    }
  }

  /// A file could not be written.
  static func writing(_ path: String, _ failure: Descriptor.Failure) -> KeyError {
    switch failure.number {
    case EEXIST:
      KeyError(.alreadyExists, "\(path): exists already, and is not overwritten", hint: "choose another name")
    case ENOSPC, EDQUOT:
      KeyError(.noSpace, "\(path): \(failure.text)", hint: "make room and try again")
    default:
      KeyError(.cannotWrite, "\(path): \(failure.text)", hint: "check the folder and who may write to it")
    }
  }
}
