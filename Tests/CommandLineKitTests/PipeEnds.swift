import Foundation
import Testing

/// Both ends of a pipe or of a pseudo-terminal.
struct PipeEnds {
  let read: Int32
  let write: Int32

  static func make() -> PipeEnds {
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    return PipeEnds(read: ends[0], write: ends[1])
  }

  /// What is written to `write`, as a program's output, arrives at `read`, as at a person's screen.
  static func pseudoTerminal() throws -> PipeEnds {
    // Foundation does not show this function on Linux, though the C library has it everywhere.
    typealias OpenTerminal =
      @convention(c) (
        UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Int32>, OpaquePointer?, OpaquePointer?, OpaquePointer?
      ) -> Int32
    let openTerminal = unsafeBitCast(try #require(dlsym(dlopen(nil, RTLD_NOW), "openpty")), to: OpenTerminal.self)
    var (controller, terminal): (Int32, Int32) = (-1, -1)
    try #require(openTerminal(&controller, &terminal, nil, nil, nil) == 0)
    return PipeEnds(read: controller, write: terminal)
  }

  func with<Result>(_ body: (PipeEnds) throws -> Result) rethrows -> Result {
    defer { close() }
    return try body(self)
  }

  func close() {
    Foundation.close(read)
    Foundation.close(write)
  }

  /// What has arrived, which must be something.
  func arrived() -> String {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = Foundation.read(read, &buffer, buffer.count)
    return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
  }
}
