#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A terminal whose echo is off until it is restored.
struct TerminalEcho {
  private let descriptor: Int32
  private let before: termios

  /// Turns the echo off and line editing on.
  init(off descriptor: Int32) throws(KeyError) {
    self.descriptor = descriptor
    var attributes = termios()
    guard tcgetattr(descriptor, &attributes) == 0 else {
      throw KeyError(
        .noTerminal, "a passphrase is required, but the input is not a terminal",
        hint: "name a file that holds the passphrase")
    }
    before = attributes
    attributes.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL)
    attributes.c_lflag |= tcflag_t(ICANON | ISIG)
    attributes.c_iflag |= tcflag_t(ICRNL)
    guard TerminalEcho.set(attributes, on: descriptor, TCSADRAIN) else {
      throw KeyError(
        .noTerminal, "cannot turn off the echo of the terminal",
        hint: "name a file that holds the passphrase in its first line")
    }
  }

  /// Restores the terminal. A disconnected terminal cannot be restored.
  func restore(discardingInput: Bool) {
    _ = TerminalEcho.set(before, on: descriptor, discardingInput ? TCSAFLUSH : TCSADRAIN)
  }

  private static func set(_ attributes: termios, on descriptor: Int32, _ when: Int32) -> Bool {
    var attributes = attributes
    while tcsetattr(descriptor, when, &attributes) != 0 {
      if errno != EINTR { return false }
    }
    return true
  }
}
