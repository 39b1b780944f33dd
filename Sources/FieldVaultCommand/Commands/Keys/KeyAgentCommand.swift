import CommandLineKit
import Platform
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The process that keeps a vault unlocked. Only `unlock` starts it: the key comes through standard input, and the socket
/// listens already.
enum KeyAgentCommand: ProgramCommand {
  static let name = "key-agent"
  /// The descriptor of the listening socket.
  static let listener: Int32 = 3

  static let description = CommandDescription(
    name, summary: "keep a vault unlocked; started by 'unlock'",
    arguments: [
      .required("SOCKET", "the path of the socket"), .required("FILE_NUMBER", "the number of the socket's file"),
    ],
    exitCodes: usual, isHidden: true)

  static func run(_ context: CommandContext) throws {
    let socket = try context.arguments.required("SOCKET")
    guard let identity = UInt64(try context.arguments.required("FILE_NUMBER")) else {
      throw context.arguments.mistake("FILE_NUMBER is a whole number", about: "FILE_NUMBER")
    }
    guard let session = try read() else {
      throw context.arguments.mistake("no key on standard input", hint: "use 'fieldvault unlock'")
    }
    // A signal for the group of the terminal, such as that of Control-C, must not end the agent. The current folder of the
    // user could otherwise not be unmounted.
    setsid()
    guard chdir("/") == 0 else { throw FileError.last("enter", "/") }
    let keyring = VaultLayout(folder: try context.vaultPath()).keyring
    let loop = try KeyAgentLoop(session, keyring: keyring, socket: socket, identity: identity, listener: listener)
    try loop.run()
  }

  /// Reads the key from standard input; `nil` for other content.
  private static func read() throws(KeyError) -> AgentSession? {
    var done = 0
    let bytes = try SecureBytes(
      count: AgentSession.serializedCount,
      filling: { buffer in
        let input = Descriptor(borrowing: STDIN_FILENO)
        while done < buffer.count {
          let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
          guard let count = try? input.read(into: rest), count > 0 else { return }
          done += count
        }
      })
    return try AgentSession(parsing: bytes)
  }
}

/// Drives a ``KeyAgent`` with the system's sockets, files, signals and clock.
private struct KeyAgentLoop {
  let session: AgentSession
  let keyring: String
  let socket: String
  let identity: UInt64
  let listener: Int32
  /// A byte arrives here when the process is asked to stop.
  private let stopped: Int32

  /// The time between two checks of the keyring and of the socket, in milliseconds.
  private static let checkInterval = 1_000.0

  init(_ session: AgentSession, keyring: String, socket: String, identity: UInt64, listener: Int32) throws {
    (self.session, self.keyring, self.socket, self.identity, self.listener) = (
      session, keyring, socket, identity, listener
    )
    let ends = try ChildStart.pipe()
    Signals.onStop { _ in
      var byte: UInt8 = 0
      _ = write(ends.writing, &byte, 1)
    }
    stopped = ends.reading
  }

  /// Serves clients until the agent ends.
  func run() throws {
    let clock = Clock.system
    let rest = max(0, session.end - clock.now())
    var agent = KeyAgent(owner: geteuid(), end: clock.instant() + .milliseconds(rest))
    defer { removeSocket() }
    while true {
      let ready = try wait(for: agent, clock.instant())
      // The check comes before the responses, so that no client gets the key of a former keyring.
      var events: [KeyAgent.Event] = ready.contains(stopped) || !isCurrent ? [.stopped] : [.time]
      if ready.contains(listener), let client = LocalSocket.accept(from: listener) {
        events.append(.connected(client, user: LocalSocket.peerUser(of: client)))
      }
      for client in agent.descriptors where ready.contains(client) { events.append(.received(client, read(client))) }
      for event in events {
        for effect in agent.handle(event, at: clock.instant()) where perform(effect) { return }
      }
    }
  }

  /// Waits for input, a deadline or the next check. Returns the descriptors with input.
  private func wait(for agent: KeyAgent, _ now: ContinuousClock.Instant) throws -> Set<Int32> {
    let rest = (agent.nextDeadline - now) / .milliseconds(1)
    var polled = ([listener, stopped] + agent.descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let count = poll(&polled, nfds_t(polled.count), Int32(min(max(0, rest.rounded(.up)), Self.checkInterval)))
    guard count >= 0 || errno == EINTR else { throw FileError.last("wait at", socket) }
    return count > 0 ? Set(polled.filter { $0.revents != 0 }.map(\.fd)) : []
  }

  /// Whether the vault still has the keyring of the key, and the socket is still that of this agent. A keyring that cannot
  /// be read counts as changed.
  private var isCurrent: Bool {
    guard AgentPlace.identity(of: socket) == identity, let now = try? KeyringFile.read(at: keyring) else {
      return false
    }
    return session.key.opens(now)
  }

  /// Returns the bytes of a client; none after a failure, because the client is then gone.
  private func read(_ client: Int32) -> [UInt8] {
    (try? Descriptor(borrowing: client).chunk(atMost: AgentRequest.longest)) ?? []
  }

  /// Performs an effect. Returns whether the agent ends.
  private func perform(_ effect: KeyAgent.Effect) -> Bool {
    switch effect {
    case .respond(let client, let request):
      // A client that does not take its response loses it.
      try? respond(to: request, Descriptor(owning: client))
      return false
    case .close(let client):
      close(client)
      return false
    case .end: return true
    }
  }

  private func respond(to request: AgentRequest, _ client: borrowing Descriptor) throws {
    let number = client.number
    switch request {
    case .open:
      try session.serialized().withUnsafeBytes { try Descriptor(borrowing: number).write($0) }
    case .status:
      try session.endBytes.withUnsafeBytes { try Descriptor(borrowing: number).write($0) }
    case .lock:
      // The next command must not find the socket of an agent that is about to end.
      removeSocket()
      try [UInt8(1)].withUnsafeBytes { try Descriptor(borrowing: number).write($0) }
    }
  }

  /// Removes the socket, unless it belongs to another agent.
  private func removeSocket() {
    if AgentPlace.identity(of: socket) == identity { unlink(socket) }
  }
}
