import CipherSQL
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A file that is written as it comes.
final class PartFile: DownloadTarget {
  /// The received bytes do not begin with the expected mark.
  struct ContentMismatch: Error {}

  private let descriptor: Descriptor
  private let mark: [UInt8]
  private let count: Locked<Int64>

  var byteCount: Int64 { count.withLock { $0 } }

  /// - Parameter mark: the expected first bytes of the file. Other files are not written.
  init(_ path: String, beginsWith mark: [UInt8] = []) throws(DownloadProblem) {
    self.mark = mark
    do {
      descriptor = try Descriptor(opening: path, O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
      count = Locked(Int64(try descriptor.size()))
    } catch {
      throw .notWritten
    }
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws {
    let rest = mark.dropFirst(Int(clamping: byteCount)).prefix(bytes.count)
    guard bytes.starts(with: rest) else { throw ContentMismatch() }
    try descriptor.write(bytes, at: Int(byteCount))
    count.withLock { $0 += Int64(bytes.count) }
  }

  func empty() throws(DownloadProblem) {
    do {
      try descriptor.setSize(0)
      count.withLock { $0 = 0 }
    } catch {
      throw .notWritten
    }
  }

  func complete() throws(DownloadProblem) {
    do {
      try descriptor.synchronize()
    } catch {
      throw .notWritten
    }
  }

  func keep() throws(DownloadProblem) { try complete() }
}
