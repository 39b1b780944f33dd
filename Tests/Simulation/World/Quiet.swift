import CipherSQL
import OfflineStore
import SyncEngine

/// The time after the faults: all devices sync until nothing changes.
struct Quiet {
  /// More passes than this are not a bounded time.
  static let limit = 20

  let devices: [OpenDevice]
  /// Whether open conflicts are decided, or left open.
  let resolves: Bool

  /// - Returns: how many passes there were.
  /// - Throws: ``Violation``
  func settle(_ random: inout Seeded) async throws -> Int {
    var log: [String] = []
    for pass in 1...Self.limit {
      var isQuiet = true
      for device in devices {
        let report = try await Self.sync(device)
        let changes =
          report.pushed + report.pulled + report.conflicts + report.failed + report.delayed + report.repaired
        let open = try device.vault.conflictNames()
        let decided = try decide(device, pass, Seeded(random.next()).nextValue)
        if changes + decided > 0 {
          isQuiet = false
          log.append(
            "pass \(pass), \(device.seat.name): pushed \(report.pushed), merged \(report.merged), pulled \(report.pulled), "
              + "conflicts \(report.conflicts), failed \(report.failed), delayed \(report.delayed), decided \(decided) \(open)"
          )
        }
        if try await waitForDue(device) { isQuiet = false }
      }
      if isQuiet { return pass }
    }
    throw Violation(5, ["not quiet after \(Self.limit) passes"] + log.suffix(devices.count * 3))
  }

  /// A round of a device, without faults.
  static func sync(_ device: OpenDevice) async throws -> SyncReport {
    var report = SyncReport()
    // A connection that the server still had from before may end once more.
    for _ in 0..<3 {
      do {
        report = try await device.worker.sync()
      } catch {
        throw Violation(5, "\(device.seat.name) cannot sync: \(error)")
      }
      if report.outcome == .done { return report }
      guard report.outcome == .offline else { break }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw Violation(
      5, "\(device.seat.name) ends a round with \(report.outcome): \(report.failure.map { "\($0)" } ?? "")")
  }

  private func decide(_ device: OpenDevice, _ pass: Int, _ seed: UInt64) throws -> Int {
    var decisions = try device.decisions(seed)
    // What fails again and again is given up in the end.
    let count = try decisions.settleFailed(1, retries: pass < 5 ? 0.5 : 0)
    return resolves ? try decisions.resolve(1) + count : count
  }

  /// Operations that wait for their time are a matter of milliseconds here.
  private func waitForDue(_ device: OpenDevice) async throws -> Bool {
    guard let due = try await device.vault.sync({ try $0.nextDue() }) else { return false }
    try await Task.sleep(for: .milliseconds(min(max(due - Vault.now, 0), 2_000) + 5))
    return true
  }
}

extension Vault {
  /// The open conflicts, for people.
  fileprivate func conflictNames() throws -> String {
    try conflicts(resolved: false).map { "\($0.conflictType) \($0.fields): \($0.entityType) \($0.entityUuid)" }
      .joined(separator: ", ")
  }
}

extension Seeded {
  fileprivate var nextValue: UInt64 {
    var copy = self
    return copy.next()
  }
}
