import CSodium
import CipherSQL
import FileServer
import HTTPClient
import HTTPServer
import Platform
import ServerStorage
import SyncModel
import VaultKeys

/// Decides when a ``Webhook`` is called. Changes of an account that follow each other share a call, and a call that failed
/// is repeated.
struct WebhookQueue: Sendable {
  /// The input.
  enum Event: Equatable, Sendable {
    /// An account has changes. The device that made all of them is `author`.
    case committed(AccountName, author: String?)
    /// The time of a wait has passed.
    case due
    /// A call of an account succeeded.
    case sent(AccountName)
    case failed(AccountName)
  }

  /// The output.
  enum Effect: Equatable, Sendable {
    /// Call with the devices of an account, except one.
    case send(AccountName, except: String?)
    /// Wait, then continue with `due`.
    case wait(until: ContinuousClock.Instant)
    /// The calls of an account failed for too long.
    case giveUp(AccountName)
  }

  /// The time that the first change of an account waits for others.
  static let window = Duration.seconds(1)
  /// The number of calls at the same time.
  static let greatestCalls = 4
  /// The number of failures after which the changes of an account are given up, some ten minutes.
  static let greatestFailures = 14
  /// The longest pause after a failure.
  static let longestPause = Duration.seconds(60)

  private struct Changes {
    var author: String?

    mutating func add(_ other: String?) { author = author == other ? author : nil }
  }

  private struct Entry {
    /// The changes that no call has.
    var waiting: Changes?
    /// The changes of the running call.
    var sending: Changes?
    var due: ContinuousClock.Instant
    var failures = 0
  }

  private var entries: [AccountName: Entry] = [:]
  /// The number of accounts with changes of which no call has told.
  var waitingCount: Int { entries.count }
  /// Returns whether an account has changes of which no call has told.
  func isWaiting(_ account: AccountName) -> Bool { entries[account] != nil }
  private var calls = 0
  /// When the running wait ends.
  private var wake: ContinuousClock.Instant?

  /// Applies an event.
  mutating func handle(_ event: Event, at now: ContinuousClock.Instant) -> [Effect] {
    switch event {
    case .committed(let account, let author):
      var entry = entries[account] ?? Entry(due: now + Self.window)
      if entry.waiting == nil { entry.waiting = Changes(author: author) } else { entry.waiting?.add(author) }
      entries[account] = entry
    case .due: wake = nil
    case .sent(let account):
      calls -= 1
      guard let entry = entries[account] else { break }
      entries[account] = entry.waiting.map { Entry(waiting: $0, due: now + Self.window) }
    case .failed(let account):
      calls -= 1
      guard var entry = entries[account], let sent = entry.sending else { break }
      entry.failures += 1
      guard entry.failures <= Self.greatestFailures else {
        entries[account] = nil
        return [.giveUp(account)] + begin(now)
      }
      if entry.waiting == nil { entry.waiting = sent } else { entry.waiting?.add(sent.author) }
      entry.sending = nil
      entry.due = now + min(.seconds(1 << min(entry.failures - 1, 6)), Self.longestPause)
      entries[account] = entry
    }
    return begin(now)
  }

  /// Begins the calls that are due, the oldest first, and waits for the next one.
  private mutating func begin(_ now: ContinuousClock.Instant) -> [Effect] {
    var effects: [Effect] = []
    let waiting = entries.filter { $0.value.waiting != nil && $0.value.sending == nil }
      .sorted { ($0.value.due, $0.key.folder) < ($1.value.due, $1.key.folder) }
    for (account, entry) in waiting where entry.due <= now && calls < Self.greatestCalls {
      calls += 1
      entries[account]?.sending = entry.waiting
      entries[account]?.waiting = nil
      effects.append(.send(account, except: entry.waiting?.author))
    }
    // Calls that wait for the end of another one begin then.
    if let next = waiting.first(where: { $0.value.due > now })?.value.due, wake.map({ next < $0 }) ?? true {
      wake = next
      effects.append(.wait(until: next))
    }
    return effects
  }
}

/// Calls an address after changes, so that a program there can send push notifications to devices. A call has the ids of
/// devices, and no content.
public final class Webhook: Sendable {
  /// Where and how to call.
  public struct Settings: Sendable {
    let url: String
    let address: ServerAddress
    let key: SecureBytes

    static let keyLengths = 16...4_096

    /// Creates settings.
    /// - Parameters:
    ///   - url: an `https://` address, or one on this machine. It may have a query.
    ///   - keyFile: a file that only its owner may read. Its content, without the end of the last line, is the key of the
    ///     signatures: 16 to 4,096 bytes.
    /// - Throws: ``ServerError`` with `badWebhook`; `KeyError` without lockable memory.
    public init(url: String, keyFile: String) throws {
      do throws(TransportFailure) {
        address = try ServerAddress(String(url.prefix { $0 != "?" }))
      } catch {
        throw ServerError(.badWebhook, "the address of the webhook: \(error.message)", hint: "use an https:// address")
      }
      self.url = url
      let most = Self.keyLengths.upperBound
      var content = try SecretFile.content(of: keyFile, errors: .badWebhook, limit: most + 2)
      defer { sodium_memzero(&content, content.count) }
      let length = content.count - content.reversed().prefix { $0 == 0x0A || $0 == 0x0D }.count
      guard Self.keyLengths.contains(length) else {
        throw ServerError(
          .badWebhook, "\(keyFile) has no key of \(Self.keyLengths.lowerBound) to \(most) bytes",
          hint: "create one: openssl rand -hex 32 > \(keyFile)")
      }
      key = try SecureBytes(count: length) { $0.copyBytes(from: content.prefix(length)) }
    }
  }

  /// The header with the time of a call in seconds since 1970, and the HMAC-SHA-256 of this time, a dot and the body.
  static let signatureHeader = "FieldVault-Signature"

  private let settings: Settings
  private let serverUuid: String
  private let transport: HTTPTransport
  private let environment: Environment
  private let log: RequestLog
  private let queue = Locked(WebhookQueue())
  private let storage = Locked<(any RecordStorage)?>(nil)

  init(_ settings: Settings, serverUuid: String, environment: Environment, log: RequestLog) {
    (self.settings, self.serverUuid, self.environment, self.log) = (settings, serverUuid, environment, log)
    var limits = TransportLimits()
    (limits.connectSeconds, limits.idleSeconds, limits.wholeSeconds) = (5, 10, 20)
    transport = HTTPTransport(address: settings.address, limits: limits) { nil }
  }

  /// Begins to call. Changes before are not announced.
  func start(_ storage: any RecordStorage) { self.storage.withLock { $0 = storage } }

  /// Ends all calls. Devices learn of later changes when they ask.
  func close() { storage.withLock { $0 = nil } }

  /// The number of accounts with changes of which no call has told.
  var waitingCount: Int { queue.withLock { $0.waitingCount } }
  /// Returns whether an account has changes of which no call has told.
  func isWaiting(_ account: AccountName) -> Bool { queue.withLock { $0.isWaiting(account) } }

  /// Announces changes.
  func tell(_ account: AccountName, _ changes: CommittedChanges) {
    if storage.withLock({ $0 != nil }) { handle(.committed(account, author: changes.author)) }
  }

  private func handle(_ event: WebhookQueue.Event) {
    let clock = environment.clock
    let effects = queue.withLock { $0.handle(event, at: clock.instant()) }
    for effect in effects {
      switch effect {
      case .send(let account, let author): startTask { await self.call(account, author) }
      case .wait(let end):
        startTask { [weak self] in
          try await clock.sleepUntil(end)
          self?.handle(.due)
        }
      case .giveUp(let account): log.failure("the webhook is not told of changes of the account \(account.name)")
      }
    }
  }

  private func call(_ account: AccountName, _ author: String?) async {
    guard let storage = storage.withLock({ $0 }) else { return }
    do {
      let devices = try await storage.read(account) { try $0.deviceIds }.filter { $0 != author }
      if !devices.isEmpty { try await send(account, devices) }
      handle(.sent(account))
    } catch {
      log.failure("the webhook failed: \(error)")
      handle(.failed(account))
    }
  }

  private func send(_ account: AccountName, _ devices: [String]) async throws {
    let now = environment.now
    let body = SyncValue.object([
      "account": .text(account.name), "deviceIds": .array(devices.map { .text($0) }),
      "serverTime": .text(WireTime.text(now)),
      "serverUuid": .text(serverUuid),
    ]).json
    let time = String(now / 1_000)
    let code = settings.key.withUnsafeBytes { HMAC.sha256("\(time).\(body)", keyed: $0) }
    var request = HTTPRequest(settings.url, body: Array(body.utf8), isAuthorized: false)
    request.headers = [(Self.signatureHeader, "t=\(time),v1=\(HexText.text(code))")]
    let response = try await transport.send(request)
    guard (200..<300).contains(response.status) else {
      throw ServerError(.system, "it responded with status \(response.status)")
    }
  }
}
