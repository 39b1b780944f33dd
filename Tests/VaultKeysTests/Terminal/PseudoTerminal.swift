import Foundation
import Platform

@testable import VaultKeys

/// Both ends of a terminal that only a test sees.
final class PseudoTerminal: Sendable {
  let master: Int32
  let slave: Int32
  let slavePath: String

  init() throws {
    var ends: (master: Int32, slave: Int32) = (-1, -1)
    var name = [CChar](repeating: 0, count: 1024)
    guard openpty(&ends.master, &ends.slave, &name, nil, nil) == 0 else {
      throw KeyError(.noTerminal, "no pseudo-terminal", hint: "")
    }
    (master, slave) = ends
    slavePath = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    _ = fcntl(master, F_SETFD, FD_CLOEXEC)
    _ = fcntl(slave, F_SETFD, FD_CLOEXEC)
  }

  deinit {
    close(slave)
    close(master)
  }

  var isEchoing: Bool {
    var attributes = termios()
    return tcgetattr(slave, &attributes) == 0 && attributes.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Sends a text as the keyboard does.
  func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(master, bytes, bytes.count)
  }

  /// Returns the output up to and including `end`; the output so far after ten seconds without any.
  func screen(until end: String) -> String {
    // Bytes, because CR LF is one character of a String.
    var shown: [UInt8] = []
    while !shown.suffix(end.utf8.count).elementsEqual(end.utf8) {
      var poller = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, 10_000) == 1 else { return String(decoding: shown, as: UTF8.self) + " (nothing more)" }
      var byte: UInt8 = 0
      guard read(master, &byte, 1) == 1 else { return String(decoding: shown, as: UTF8.self) + " (closed)" }
      shown.append(byte)
    }
    return String(decoding: shown, as: UTF8.self)
  }
}

/// A blocking call on a thread of its own, so that the test can act as the user.
final class Background<Value: Sendable>: Sendable {
  private let result = Locked<Result<Value, KeyError>?>(nil)
  private let done = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () throws(KeyError) -> Value) {
    Thread.detachNewThread { [self] in
      let outcome: Result<Value, KeyError>
      do throws(KeyError) {
        outcome = .success(try body())
      } catch {
        outcome = .failure(error)
      }
      result.withLock { $0 = outcome }
      done.signal()
    }
  }

  func wait() throws -> Value {
    guard done.wait(timeout: .now() + 20) == .success, let outcome = result.withLock({ $0 }) else {
      throw KeyError(.cancelled, "no result within 20 seconds", hint: "")
    }
    return try outcome.get()
  }
}
