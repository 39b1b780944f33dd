import CipherSQL
import TestSupport
import VaultStore
import SyncEngine

/// The time after the faults: all devices sync until nothing changes, and compare everything then.
struct Quiet {
  /// More decisions one after the other than this are not a bounded time.
  static let limit = 20

  let devices: [any WatchedDevice]
  /// Whether open conflicts are decided, or left open.
  let resolves: Bool
  /// The depth of the reference graph.
  let depth: Int
  /// Whether the first comparison may find differences: after the account was empty, and with processes after a restore.
  let mayDiffer: Bool
  /// Whether users take the server's side after some turns. A record whose parent the API does not create again comes back as
  /// a conflict as long as its user keeps it.
  var yields = false

  /// - Throws: ``Violation``
  func settle(_ random: inout Seeded) async throws {
    try await settleDecisions(&random)
    if mayDiffer {
      for device in devices { _ = try await Self.sync(device, RoundRequest(isFull: true)) }
      try await settleDecisions(&random)
    }
    var isEqual = true
    for device in devices {
      let before = try device.states()
      // A record with a conflict is compared with the server's again until a user has decided. The comparison ends the
      // conflict of one that the user undeleted meanwhile.
      let undecided = try device.undecided()
      let report = try await Self.sync(device, RoundRequest(isFull: true))
      guard try report.repaired <= max(undecided, device.undecided()) else {
        throw Violation(
          6,
          ["a comparison of \(device.name) finds \(report.repaired) differences"]
            + (try before.subtracting(device.states()).sorted().prefix(6)))
      }
      // What the comparison of a record in conflict has changed reaches the others before theirs.
      guard report.repaired + report.pushed > 0 else { continue }
      isEqual = false
      for other in devices { _ = try await Self.sync(other) }
    }
    if !isEqual { try await settleDecisions(&random) }
  }

  private func settleDecisions(_ random: inout Seeded) async throws {
    var log: [String] = []
    for turn in 1...Self.limit {
      try await converge(&log)
      var decided = 0
      for device in devices { decided += try decide(device, turn, random.next()) }
      if decided == 0 { return }
      log.append("turn \(turn): decided \(decided)")
    }
    throw Violation(5, ["not quiet after \(Self.limit) turns"] + log.suffix(devices.count * 6))
  }

  /// Lets each device make the rounds after which every operation is acknowledged, conflicted, failed or blocked.
  private func converge(_ log: inout [String]) async throws {
    var isQuiet = false
    for round in 1...(3 + depth) where !isQuiet {
      isQuiet = true
      for device in devices {
        try await device.awaitRetries()
        let report = try await Self.sync(device)
        let changes =
          report.pushed + report.pulled + report.conflicts + report.failed + report.delayed + report.repaired
        guard changes > 0 else { continue }
        isQuiet = false
        log.append(
          "round \(round), \(device.name): pushed \(report.pushed), merged \(report.merged), pulled \(report.pulled), "
            + "conflicts \(report.conflicts), failed \(report.failed), delayed \(report.delayed), repaired \(report.repaired) "
            + (try device.conflictNames()))
      }
    }
    do {
      for device in devices {
        try device.read { try StoreCheck(device: device, connection: $0).checkEnd() }
      }
    } catch let violation as Violation {
      throw Violation(violation.statement, violation.details + log.suffix(devices.count * 6))
    }
    guard !isQuiet else { return }
    // The last changes of each device reach the others.
    for device in devices { _ = try await Self.sync(device, RoundRequest(pushes: false)) }
  }

  /// A round of a device, without faults.
  static func sync(_ device: any WatchedDevice, _ request: RoundRequest = RoundRequest()) async throws -> SyncReport {
    var report = SyncReport()
    // A connection that the server still had from before may end once more.
    for _ in 0..<3 {
      do {
        report = try await device.round(request)
      } catch let violation as Violation {
        throw violation
      } catch {
        throw Violation(5, "\(device.name) cannot sync: \(error)")
      }
      if report.outcome == .done { return report }
      if report.heldDeletions != nil {
        try device.vault.acceptDeletions()
        continue
      }
      guard report.outcome == .offline else { break }
      try await device.pause()
    }
    throw Violation(
      5, "\(device.name) ends a round with \(report.outcome): \(report.failure.map { "\($0)" } ?? "")")
  }

  private func decide(_ device: any WatchedDevice, _ turn: Int, _ seed: UInt64) throws -> Int {
    var decisions = try device.decisions(seed)
    return try TransactionMeter.asUser {
      // Operations that fail repeatedly are discarded in the end.
      let count = try decisions.settleFailed(1, retries: turn < 5 ? 0.5 : 0)
      decisions.takesServer = yields && turn >= 10
      return resolves ? try decisions.resolve(1, givesValues: turn >= 5) + count : count
    }
  }
}
