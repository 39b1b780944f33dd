import HTTPServer
import Platform
import ServerStorage
import SyncModel

/// The last uses of tokens and the last requests of devices, until they are stored. It refuses revoked devices.
///
/// Uses and requests are stored once a minute, because a write for each request would cost more than most requests. A process that is
/// killed loses those of its last minute.
final class Contacts: Sendable {
  /// The time between two writes.
  static let interval = Duration.seconds(60)

  private struct Waiting {
    /// The last use of each token, in milliseconds since 1970-01-01 UTC.
    var times: [Int64: Int64] = [:]
    var devices: [DeviceContact.Key: DeviceContact] = [:]
  }

  private let waiting = Locked(Waiting())
  private let directory: any AccountDirectory
  private let clock: Clock
  private let log: RequestLog

  init(_ directory: any AccountDirectory, _ clock: Clock, _ log: RequestLog) {
    (self.directory, self.clock, self.log) = (directory, clock, log)
  }

  /// Notes that a token was used.
  func note(_ token: Int64) {
    let now = clock.now()
    waiting.withLock { $0.times[token] = now }
  }

  /// Admits a request of a device. A request that names no device is admitted.
  /// - Throws: ``HTTPProblem`` for a revoked device, and for an invalid id.
  func admit(_ request: Request, _ member: Member) throws(HTTPProblem) {
    guard let device = request.device else { return }
    try PushId.check(device: device, WireProtocol.deviceHeader)
    try admit(device, version: request.programVersion, member)
  }

  /// Admits a device.
  /// - Parameter version: the version of its program, if it is known.
  /// - Throws: ``HTTPProblem`` for a revoked device.
  func admit(_ device: String, version: String? = nil, _ member: Member) throws(HTTPProblem) {
    let isRefused = member.revokedDevices.contains(device)
    note(
      device, member, DeviceContact(tokenId: member.tokenId, time: clock.now(), version: version, isRefused: isRefused))
    if isRefused { throw .deviceRevoked }
  }

  /// Notes that a device has read all changes up to a number.
  func note(_ device: String?, _ member: Member, hasRead position: Int64) {
    guard let device else { return }
    note(device, member, DeviceContact(tokenId: member.tokenId, time: clock.now(), position: position))
  }

  private func note(_ device: String, _ member: Member, _ contact: DeviceContact) {
    waiting.withLock { waiting in
      let key = DeviceContact.Key(member.account, device)
      if waiting.devices[key]?.add(contact) == nil { waiting.devices[key] = contact }
    }
  }

  /// Stores all of them. After a failure they are stored with the next ones.
  func store() {
    let taken = waiting.withLock { waiting in
      defer { waiting = Waiting() }
      return waiting
    }
    do {
      if !taken.times.isEmpty { try directory.noteUse(of: taken.times) }
      if !taken.devices.isEmpty { try directory.note(taken.devices) }
    } catch {
      log.failure("cannot store when tokens and devices were seen: \(error)")
      waiting.withLock { waiting in
        waiting.times.merge(taken.times, uniquingKeysWith: max)
        waiting.devices.merge(taken.devices) { later, earlier in
          var all = earlier
          all.add(later)
          return all
        }
      }
    }
  }

  /// Stores them once a minute, until the task is cancelled.
  func run() async {
    do {
      while true {
        try await clock.sleep(Self.interval)
        await offload { self.store() }
      }
    } catch {
      // The task is cancelled.
    }
  }
}

extension Request {
  /// The id of the device that sends the request; `nil` if it does not say so.
  var device: String? { headers[WireProtocol.deviceHeader.lowercased()] }

  /// The version of the FieldVault program that sends the request; `nil` for other programs.
  fileprivate var programVersion: String? {
    guard let agent = headers["user-agent"], agent.hasPrefix("FieldVault/") else { return nil }
    let version = agent.dropFirst("FieldVault/".count).prefix { $0 != " " }
    let isPlain = version.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return (1...40).contains(version.utf8.count) && isPlain ? String(version) : nil
  }
}
