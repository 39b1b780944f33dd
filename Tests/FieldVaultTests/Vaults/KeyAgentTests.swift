import Foundation
import TestSupport
import Testing
import VaultKeys

@testable import FieldVaultCommand

/// The decisions of the key agent, without processes.
@Suite("Key agent")
struct KeyAgentTests {
  private let start = ContinuousClock.now
  private func agent(for time: Duration = .seconds(60)) -> KeyAgent { KeyAgent(owner: 1000, end: start + time) }

  @Test("Only a complete and correct line is a request", arguments: AgentRequest.allCases)
  func requests(_ request: AgentRequest) {
    #expect(AgentRequest.parse(request.line) == .request(request))
    #expect(request.line.count <= AgentRequest.longest)
    for count in 0..<request.line.count {
      #expect(AgentRequest.parse(Array(request.line.prefix(count))) == .incomplete)
    }
    #expect(AgentRequest.parse(request.line + [0]) == .invalid)
    for index in request.line.indices {
      var changed = request.line
      changed[index] ^= 0x80
      #expect(AgentRequest.parse(changed) == .invalid)
    }
  }

  @Test("Random bytes get no response, and their connection is closed")
  func randomBytes() {
    var generator = Seeded()
    for _ in 0..<2_000 {
      var agent = agent()
      #expect(agent.handle(.connected(7, user: 1000), at: start).isEmpty)
      let count = Int.random(in: 1...64, using: &generator)
      let bytes = (0..<count).map { _ in UInt8.random(in: 128...255, using: &generator) }
      #expect(agent.handle(.received(7, bytes), at: start) == [.close(7)], "seed \(generator.seed)")
      #expect(agent.descriptors.isEmpty)
    }
  }

  @Test("A request may arrive in parts, and has one response")
  func parts() {
    for request in AgentRequest.allCases {
      var agent = agent()
      _ = agent.handle(.connected(7, user: 1000), at: start)
      for byte in request.line.dropLast() { #expect(agent.handle(.received(7, [byte]), at: start).isEmpty) }
      let end: [KeyAgent.Effect] = request == .lock ? [.end] : []
      #expect(agent.handle(.received(7, [0x0A]), at: start) == [.respond(7, request)] + end)
      #expect(agent.handle(.received(7, request.line), at: start).isEmpty)
    }
  }

  @Test("A process of another user, or of an unknown one, is disconnected unheard", arguments: [0, 999, 1001, nil])
  func otherUsers(_ user: UInt32?) {
    var agent = agent()
    #expect(agent.handle(.connected(7, user: user), at: start) == [.close(7)])
    #expect(agent.handle(.received(7, AgentRequest.open.line), at: start).isEmpty)
  }

  @Test("A client that sends nothing is disconnected after 2 s")
  func silentClients() {
    var agent = agent()
    _ = agent.handle(.connected(7, user: 1000), at: start)
    #expect(agent.nextDeadline == start + .seconds(2))
    #expect(agent.handle(.time, at: start + .milliseconds(1_999)).isEmpty)
    #expect(agent.handle(.time, at: start + .seconds(2)) == [.close(7)])
    #expect(agent.nextDeadline == start + .seconds(60))
  }

  @Test("Silent clients do not keep others out: the oldest one is disconnected")
  func manyClients() {
    var agent = agent()
    for client in 0..<Int32(KeyAgent.maximumClients) {
      #expect(agent.handle(.connected(client, user: 1000), at: start + .milliseconds(Int(client))).isEmpty)
    }
    #expect(agent.handle(.connected(99, user: 1000), at: start + .seconds(1)) == [.close(0)])
    #expect(agent.handle(.received(99, AgentRequest.open.line), at: start + .seconds(1)) == [.respond(99, .open)])
  }

  @Test("At the end of its time the agent gives no key")
  func end() {
    var agent = agent(for: .seconds(1))
    _ = agent.handle(.connected(7, user: 1000), at: start)
    #expect(agent.nextDeadline == start + .seconds(1))
    #expect(agent.handle(.received(7, AgentRequest.open.line), at: start + .seconds(1)) == [.end])
  }

  @Test("A stopped agent ends") func stopped() {
    var agent = agent()
    #expect(agent.handle(.stopped, at: start) == [.end])
  }

  @Test(
    "The time is minutes or a number with a unit, up to 12 hours",
    arguments: [
      ("15", 900), ("1s", 1), ("90s", 90), ("30m", 1800), ("12h", 43_200), ("720", 43_200), ("0", nil), ("13h", nil),
      ("", nil), ("s", nil), ("-1", nil), ("1.5h", nil), ("99999999999999999999", nil), ("9223372036854775807h", nil),
      ("5 m", nil), ("٣", nil),
    ] as [(String, Int?)])
  func times(_ text: String, _ seconds: Int?) {
    #expect(UnlockTime.seconds(text) == seconds)
  }

  @Test("The data of an agent reads back equal, and no other bytes are read")
  func sessions() throws {
    let key = try SecureBytes.random(count: 64)
    let session = try Keyring.create(with: .keyFile(key)).unlocked.sessionKey
    let bytes = try AgentSession(key: session, end: 1_800_000_000_123).serialized()
    #expect(bytes.count == AgentSession.serializedCount)
    let read = try #require(try AgentSession(parsing: bytes))
    #expect(read.end == 1_800_000_000_123 && read.key.slotID == session.slotID)
    #expect(read.key.keyringDigest == session.keyringDigest)
    #expect(try read.serialized().isEqual(to: bytes))
    for count in [0, 8, bytes.count - 1] {
      let part = try bytes.withUnsafeBytes { try SecureBytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      #expect(try AgentSession(parsing: part) == nil)
    }
    var negative = bytes.withUnsafeBytes { Array($0) }
    negative[0] = 0xFF
    #expect(try AgentSession(parsing: SecureBytes(wiping: &negative)) == nil)
  }
}
