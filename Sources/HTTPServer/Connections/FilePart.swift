import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A part of a file as the body of a response. The library sends it from the disk without copying it to memory.
package struct FilePart: Sendable {
  package let file: OpenedFile
  package let start: Int64
  package let count: Int

  package init(file: OpenedFile, start: Int64, count: Int) {
    (self.file, self.start, self.count) = (file, start, count)
  }
}

/// A file that is open for reading. Its content can be read as long as the value exists, even after its name is
/// removed.
public final class OpenedFile: Sendable {
  package let descriptor: Int32

  /// Takes over a descriptor of a regular file, and closes it on deinitialization.
  public init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Returns another descriptor of the same file, which the caller has to close.
  package func duplicate() -> Int32? {
    let copy = cplatform_fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    return copy < 0 ? nil : copy
  }
}
