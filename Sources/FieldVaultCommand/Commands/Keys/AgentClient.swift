import Platform
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The key agent of a vault, as other commands see it. A missing, stopped or foreign agent is no error: the vault is locked
/// then.
struct AgentClient {
  let place: AgentPlace

  /// The time for a response. A running agent needs less than a millisecond; a stopped one must not stop the command.
  private static let timeout: Int32 = 2_000

  init(_ place: AgentPlace) { self.place = place }

  /// Returns the key of the vault; `nil` if it is locked.
  func session() throws(KeyError) -> AgentSession? {
    guard let response = try response(to: .open) else { return nil }
    return try AgentSession(parsing: response)
  }

  /// Returns the time when the vault locks itself, in milliseconds since 1970; `nil` if it is locked.
  func end() throws(KeyError) -> Int64? {
    try response(to: .status)?.withUnsafeBytes { AgentSession.end(in: $0) }
  }

  /// Ends the agent, and removes its socket also if it does not respond. Without the socket a stopped agent ends as soon as
  /// it runs again.
  /// - Returns: whether an agent responded.
  func lock() throws -> Bool {
    let hasResponded = try response(to: .lock) != nil
    guard place.isPrivate else { return hasResponded }
    do throws(Descriptor.Failure) { try Descriptor.remove(place.socket) } catch {
      throw FileError("remove", place.socket, error)
    }
    return hasResponded
  }

  /// Sends a request. Returns `nil` unless an agent of this user sends a complete response in time.
  private func response(to request: AgentRequest) throws(KeyError) -> SecureBytes? {
    guard place.isPrivate, let connection = LocalSocket.connect(to: place.socket) else { return nil }
    let descriptor = Descriptor(owning: connection)
    guard LocalSocket.peerUser(of: connection) == geteuid() else { return nil }
    var isSent = true
    request.line.withUnsafeBytes { line in
      do throws(Descriptor.Failure) { try descriptor.write(line) } catch { isSent = false }
    }
    guard isSent else { return nil }
    return try Self.read(request.responseCount, from: descriptor)
  }

  /// Reads a response of a known length into guarded memory; `nil` if it is cut short or late.
  private static func read(_ count: Int, from descriptor: borrowing Descriptor) throws(KeyError) -> SecureBytes? {
    var done = 0
    let number = descriptor.number
    let bytes = try SecureBytes(
      count: count,
      filling: { buffer in
        let source = Descriptor(borrowing: number)
        while done < count, LocalSocket.waitReadable(number, milliseconds: timeout) {
          let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
          guard let read = try? source.read(into: rest), read > 0 else { return }
          done += read
        }
      })
    return done == count ? bytes : nil
  }
}
