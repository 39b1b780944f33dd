import HTTPClient
import HTTPServer
import Platform
import ServerStorage

/// Where a server finds the public keys of the identity provider.
public struct ProviderKeySource: Sendable {
  enum Place: Sendable {
    case file(JSONWebKeySet)
    case address(ServerAddress, url: String)
  }

  let place: Place

  /// Reads the keys of a file.
  /// - Throws: ``ServerError`` with `badIdentityProvider`, which names the file and the member; `FileError`.
  public init(file: String) throws {
    let content = try OpenFile(reading: file)
    let size = min(try content.size(), JSONWebKeySet.greatestBytes) + 1
    var failure: FileError?
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      do throws(FileError) { count = try content.fill(UnsafeMutableRawBufferPointer(buffer)) } catch { failure = error }
    }
    if let failure { throw failure }
    do throws(JSONWebKeyError) {
      place = .file(try JSONWebKeySet(parsing: bytes))
    } catch {
      throw ServerError(
        .badIdentityProvider, "\(file): \(error.message)",
        hint: "use the JWKS document that the identity provider publishes")
    }
  }

  /// Names the address of the keys.
  /// - Parameter url: an `https://` address, or one on this machine. It may have a query.
  /// - Throws: ``ServerError`` with `badIdentityProvider`.
  public init(url: String) throws(ServerError) {
    do throws(TransportFailure) {
      place = .address(try ServerAddress(String(url.prefix { $0 != "?" })), url: url)
    } catch {
      throw ServerError(
        .badIdentityProvider, "the address of the keys: \(error.message)", hint: "use an https:// address")
    }
  }
}

/// The current keys of the identity provider, which are fetched when they are needed; see ``KeySchedule``.
final class ProviderKeys: Sendable {
  private struct State {
    var keys: JSONWebKeySet?
    var schedule = KeySchedule()
    var isClosed = false
  }

  private let state: Locked<State>
  private let remote: (transport: HTTPTransport, url: String)?
  private let clock: Clock
  private let log: RequestLog

  init(_ source: ProviderKeySource, clock: Clock, log: RequestLog) {
    (self.clock, self.log) = (clock, log)
    switch source.place {
    case .file(let keys): (state, remote) = (Locked(State(keys: keys)), nil)
    case .address(let address, let url):
      var limits = TransportLimits()
      (limits.connectSeconds, limits.idleSeconds, limits.wholeSeconds) = (5, 10, 20)
      limits.bodyBytes = JSONWebKeySet.greatestBytes
      (state, remote) = (Locked(State()), (HTTPTransport(address: address, limits: limits) { nil }, url))
    }
  }

  /// The keys; `nil` until they were fetched.
  var current: JSONWebKeySet? { state.withLock(\.keys) }

  /// Uses other keys from now on. Keys at an address stay.
  func replace(_ source: ProviderKeySource) {
    guard remote == nil, case .file(let keys) = source.place else { return }
    state.withLock { $0.keys = keys }
  }

  /// Fetches the keys of an address, now and later.
  func start() { if remote != nil { handle(.start) } }

  /// Ends later fetches.
  func close() { state.withLock { $0.isClosed = true } }

  /// Asks for a key that is unknown.
  /// - Returns: the seconds after which another attempt is worthwhile; `nil` if the provider does not have the key.
  func secondsToWait(forKey id: String?) -> Int? {
    guard remote != nil else { return nil }
    handle(.unknownKey(id ?? ""))
    return state.withLock { $0.schedule.secondsToWait(for: id ?? "", at: clock.instant()) }
  }

  private func handle(_ event: KeySchedule.Event) {
    let effects = state.withLock { $0.isClosed ? [] : $0.schedule.handle(event, at: clock.instant()) }
    for effect in effects {
      switch effect {
      case .fetch: startTask { await self.fetch() }
      case .wait(let end):
        startTask { [weak self, clock] in
          try await clock.sleepUntil(end)
          self?.handle(.due)
        }
      }
    }
  }

  private func fetch() async {
    guard let remote else { return }
    do {
      let response = try await remote.transport.send(HTTPRequest(remote.url, isAuthorized: false))
      guard response.status == 200 else {
        throw ServerError(.badIdentityProvider, "it responded with status \(response.status)")
      }
      let keys = try JSONWebKeySet(parsing: response.body)
      state.withLock { $0.keys = keys }
      handle(.fetched)
    } catch {
      let reason = (error as? JSONWebKeyError)?.message ?? "\(error)"
      log.failure("cannot fetch the keys of the identity provider: \(reason)")
      handle(.failed)
    }
  }
}
