import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A terminal that only a test sees.
final class Screen {
  private let master: Int32
  /// The end for a program.
  let slave: Int32

  init() throws {
    var ends: (master: Int32, slave: Int32) = (-1, -1)
    guard openpty(&ends.master, &ends.slave, nil, nil, nil) == 0 else { throw Unexpected("no pseudo-terminal") }
    (master, slave) = ends
    // The programs of other tests do not hold it open.
    for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
  }

  deinit {
    close(slave)
    close(master)
  }

  /// The bytes of the keyboard.
  func type(_ text: String) { _ = write(master, text, text.utf8.count) }

  /// The content of the screen since the last call, including the typed characters.
  func content() -> String {
    var content: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = read(master, &part, part.count)
      guard count > 0 else { return String(decoding: content, as: UTF8.self) }
      content += part.prefix(count)
    }
  }
}
