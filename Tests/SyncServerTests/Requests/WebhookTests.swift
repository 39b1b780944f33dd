import Foundation
import Platform
import RawNetwork
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import SyncServer

/// The decisions of a webhook about its calls.
@Suite struct WebhookQueueTests {
  private static let elm = AccountName(name: "elm", folder: "1")
  private static let oak = AccountName(name: "oak", folder: "2")
  private let start = ContinuousClock.now

  @Test("changes of an account within a second share a call, which leaves out their only author")
  func coalescing() {
    var queue = WebhookQueue()
    let second = start + .seconds(1)
    #expect(queue.handle(.committed(Self.elm, author: "a"), at: start) == [.wait(until: second)])
    #expect(queue.handle(.committed(Self.elm, author: "a"), at: start + .milliseconds(200)) == [])
    #expect(queue.handle(.committed(Self.oak, author: "b"), at: start + .milliseconds(500)) == [])
    #expect(queue.handle(.committed(Self.oak, author: "c"), at: start + .milliseconds(600)) == [])
    #expect(
      queue.handle(.due, at: second)
        == [.send(Self.elm, except: "a"), .wait(until: start + .milliseconds(1_500))])
    #expect(queue.handle(.due, at: start + .milliseconds(1_500)) == [.send(Self.oak, except: nil)])
    // A change during a call has a call of its own.
    #expect(queue.handle(.committed(Self.elm, author: "b"), at: start + .seconds(2)) == [])
    #expect(queue.handle(.sent(Self.elm), at: start + .seconds(3)) == [.wait(until: start + .seconds(4))])
    #expect(queue.handle(.due, at: start + .seconds(4)) == [.send(Self.elm, except: "b")])
    #expect(queue.handle(.sent(Self.elm), at: start + .seconds(5)) == [])
    #expect(queue.handle(.sent(Self.oak), at: start + .seconds(5)) == [])
  }

  @Test("a call that fails is repeated less and less often, then given up")
  func failures() {
    var queue = WebhookQueue()
    var now = start
    var pauses: [Duration] = []
    var effects = queue.handle(.committed(Self.elm, author: "a"), at: now)
    while pauses.count < 30, case .wait(let end)? = effects.first {
      pauses.append(now.duration(to: end))
      now = end
      #expect(queue.handle(.due, at: now) == [.send(Self.elm, except: "a")])
      effects = queue.handle(.failed(Self.elm), at: now)
    }
    #expect(effects == [.giveUp(Self.elm)])
    #expect(Array(pauses.prefix(8)) == [1, 1, 2, 4, 8, 16, 32, 60].map { Duration.seconds($0) })
    #expect(pauses.count == 15)
    #expect(queue.handle(.committed(Self.elm, author: "a"), at: now) == [.wait(until: now + .seconds(1))])
  }

  @Test("every change is part of a call that begins after it, whatever succeeds", arguments: 1...50)
  func nothingIsLost(_ seed: UInt64) {
    var random = Seeded(seed)
    var queue = WebhookQueue()
    var (now, number) = (start, 0)
    var running: [AccountName: Int] = [:]
    var told: [AccountName: Int] = [:]
    var last: [AccountName: Int] = [:]
    var wakes: [ContinuousClock.Instant] = []
    func apply(_ event: WebhookQueue.Event) {
      for effect in queue.handle(event, at: now) {
        switch effect {
        case .send(let account, _):
          #expect(running[account] == nil, "seed \(seed): two calls of an account at once")
          running[account] = number
          #expect(running.count <= WebhookQueue.greatestCalls, "seed \(seed)")
        case .wait(let end): wakes.append(end)
        case .giveUp: Issue.record("seed \(seed): given up")
        }
      }
    }
    let accounts = (1...9).map { AccountName(name: "\($0)", folder: "\($0)") }
    var (steps, failures) = (0, 0)
    while steps < 5_000 {
      steps += 1
      let isBusy = steps < 300
      if isBusy, Int.random(in: 0..<3, using: &random) == 0, let account = accounts.randomElement(using: &random) {
        number += 1
        last[account] = number
        apply(.committed(account, author: Bool.random(using: &random) ? "a" : nil))
      } else if let call = running.randomElement(using: &random), Bool.random(using: &random) {
        running[call.key] = nil
        failures = isBusy && Int.random(in: 0..<3, using: &random) == 0 ? failures + 1 : 0
        if failures > 0 {
          apply(.failed(call.key))
        } else {
          told[call.key] = call.value
          apply(.sent(call.key))
        }
      } else if let next = wakes.min() {
        wakes.removeAll { $0 == next }
        now = max(now, next)
        apply(.due)
      } else if running.isEmpty, !isBusy {
        break
      }
    }
    for (account, number) in last { #expect((told[account] ?? 0) >= number, "seed \(seed): \(account.name)") }
  }
}

/// The calls of a server's webhook.
@Suite struct WebhookTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func keyFile(_ text: String = "0123456789abcdef0123\n", mode: Int = 0o600) throws -> String {
    let path = folder.path + "/\(newUuid()).key"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
  }

  @Test(
    "devices of an account are announced after pushes of others, signed, without content, and again after a failure")
  func announcement() async throws {
    let isFirst = Locked(true)
    let receiver = try RawServer { _, connection in
      let fails = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      return connection.send(fails ? problem(500) : responseText("", status: "204 No Content", type: nil))
    }
    defer { receiver.close() }
    let data = folder.path + "/data"
    func add(_ user: String, _ account: String) async throws -> String {
      try await RunningServer.run(["user", "add", user, "--account", account, "--data", data, "--quiet"], in: folder)
        .output.trimmingCharacters(in: .newlines)
    }
    let tokens = (try await add("ann", "water"), try await add("bob", "fire"))
    let server = try RunningServer(
      [
        "serve", "--data", data, "--listen", "127.0.0.1:0", "--notify-url", receiver.url + "/told?app=1",
        "--notify-key", try keyFile(),
      ], in: folder)
    let url = try await server.url()
    _ = try await TestClient(url: url, token: tokens.1).push([
      Operation.create("Project", newUuid(), ["title": "alone"])
    ])
    let ann = TestClient(url: url, token: tokens.0)
    for title in ["first secret", "second secret"] {
      _ = try await ann.push([Operation.create("Project", newUuid(), ["title": .text(title)])])
    }
    try await eventually("a repeated call", within: .seconds(60)) { receiver.requests.count >= 2 }
    let calls = receiver.requests
    #expect(calls.count == 2)
    for call in calls {
      #expect(call.line == "POST /told?app=1 HTTP/1.1" && call.headers["content-type"] == "application/json")
      let text = String(decoding: call.body, as: UTF8.self)
      #expect(!text.contains("secret") && !text.contains("fire"))
      let body = try SyncValue(parsing: text)
      #expect(body["account"] == "water" && body["serverUuid"] != nil && body["serverTime"] != nil)
      guard case .array(let devices)? = body["deviceIds"] else { throw Unexpected(text) }
      #expect(devices.count == 2)
      let words = try #require(call.headers["fieldvault-signature"]).split(separator: ",").map(String.init)
      let time = try #require(words.first?.dropFirst(2))
      let code = Array("0123456789abcdef0123".utf8).withUnsafeBytes { HMAC.sha256("\(time).\(text)", keyed: $0) }
      #expect(words == ["t=\(time)", "v1=\(HMAC.hexadecimal(code))"])
    }
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  @Test(
    "settings that cannot be used are refused with the option or file",
    arguments: [
      ("ftp://example.org", "key", "the address of the webhook"),
      ("http://example.org/told", "key", "the address of the webhook"),
      ("https://example.org/told", "short", "has no key of 16 to 4096 bytes"),
      ("https://example.org/told", "open", "other users may read"),
      ("https://example.org/told", "missing", "cannot read"),
      ("https://example.org/told", "none", "--notify-url and --notify-key must be given together"),
    ])
  func badSettings(url: String, key: String, message: String) async throws {
    let path =
      switch key {
      case "short": try keyFile("0123456789\n")
      case "open": try keyFile(mode: 0o644)
      case "missing": folder.path + "/missing"
      default: try keyFile()
      }
    let words = ["serve", "--data", folder.path + "/data", "--listen", "127.0.0.1:0", "--notify-url", url]
    let result = try await RunningServer.run(words + (key == "none" ? [] : ["--notify-key", path]), in: folder)
    #expect(result.status != 0 && result.errors.contains(message), "\(result)")
  }
}
