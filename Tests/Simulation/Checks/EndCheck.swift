import CipherSQL
import SchemaModel
import ServerStorage
import SyncModel

/// What happened to vaults and servers, as far as it excuses states that would be violations otherwise.
struct Circumstances {
  /// The operations that devices have sent, by idempotency key.
  var operations: [String: PushOperation] = [:]
  /// The device that sent each operation, by idempotency key.
  var senders: [String: String] = [:]
  /// Records that devices may have sent more than once, under different keys.
  var resent: Set<String> = []
  /// Records that the server has stored in an empty account that took the place of the account for a while. A device may
  /// have them from there, so it does not send a dependent after its parent.
  var misplaced: Set<String> = []
  /// The versions of the server that restores have replaced, by restore.
  var lostHistories: [[ServerStore.Version]] = []
  /// Deletions of records that the server did not have, in data that a restore has replaced.
  var lostTombstones: Set<String> = []
  /// The operations that referenced a record that their user did not see, by idempotency key.
  var referringToHidden: Set<String> = []
  /// The records that may have left each device, by its name. The history of their conflicts leaves with them.
  var left: [String: Set<String>] = [:]
  /// Whether vaults are copied, and vaults and servers are restored.
  var hasIncidents = false
  /// The records that the server had stored and forgotten, by true time; empty without an observation.
  var retention: [RetentionMark] = []
  /// Records with operations that were sent and not answered when data were lost. What the server overwrote with these may
  /// be unknown to the device.
  var unanswered: Set<String> = []
  /// Devices whose vaults were restored from a backup.
  var restoredVaults: Set<String> = []
  /// Whether the clock of the server was ever set forward.
  var setsServerForward = false

  /// Whether devices may merge versions without a common one: with a restored server that does not know their epoch, or
  /// after the server has forgotten a deletion.
  var mayLackBases: Bool { hasIncidents || !retention.isEmpty }
}

/// The checks of all devices and the server when faults have stopped and nothing is left to sync.
struct EndCheck {
  let devices: [any WatchedDevice]
  let workload: Workload
  let store: ServerStore
  let circumstances: Circumstances
  var service: SimulatedService?

  /// - Parameters:
  ///   - digests: the digests of the server.
  ///   - kept: the values that must not have been lost.
  ///   - others: further checks.
  /// - Throws: ``Violation``
  func check(_ digests: EntityDigests, _ kept: [KeptValues], others: (HistoryCheck) throws -> Void = { _ in }) throws {
    let database = try store.open()
    defer { database.close() }
    try database.read { server in
      let history = try history(server)
      let state = StateOfRecord(devices: devices, server: server, history: history, workload: workload)
      try explaining(state) {
        for device in devices {
          try device.read { connection in
            let check = StoreCheck(device: device, connection: connection)
            try check.check(isQuiet: true)
            try check.checkEnd()
          }
        }
        try history.check()
        try RetentionCheck(circumstances).check(server)
        if let service {
          try ServiceCheck(service: service, server: server, decided: decided(), resent: history.resent).check()
        }
        try checkJournals(history)
        try OverwrittenCheck(
          devices: devices, history: history.history, restored: circumstances.restoredVaults,
          unanswered: circumstances.unanswered, accepted: try history.acceptedVersions(from: circumstances.senders),
          lost: circumstances.lostHistories, left: circumstances.left
        ).check()
        try DroppedEditCheck(
          devices: devices, history: history, restored: circumstances.restoredVaults,
          resent: circumstances.resent.union(circumstances.unanswered), left: circumstances.left
        ).check()
        for kept in kept {
          try kept.check(
            devices, history.history, lost: circumstances.lostHistories, isHandled: history.isHandled)
        }
        try others(history)
      }
      try AgreementCheck(
        devices: devices, server: server, digests: digests, state: state, misplaced: circumstances.misplaced
      ).check()
    }
  }

  /// Checks that devices whose users see some projects have the records of these projects.
  /// - Throws: ``Violation``
  func checkVisible(_ visible: VisibleRecords, _ facts: MembershipWatch.Facts) throws {
    let database = try store.open()
    defer { database.close() }
    try database.read { server in
      let state = StateOfRecord(
        devices: devices, server: server, history: try history(server), workload: workload)
      try AgreementCheck(
        devices: devices, server: server, digests: EntityDigests(serverTime: 0, epoch: "", cursor: "", entities: [:]),
        state: state
      ).check { device in
        guard let user = facts.user(device.name) else { return ({ _ in false }, []) }
        return (
          { visible.mustShow($0, to: user) }, visible.mayKeep(user) { facts.creators($0).contains(user) }
        )
      }
    }
  }

  /// Adds the states of the named records to a violation.
  func explained(_ violation: Violation) throws -> Violation {
    let database = try store.open()
    defer { database.close() }
    return try database.read { server in
      let state = StateOfRecord(
        devices: devices, server: server, history: try history(server), workload: workload)
      return Violation(violation.statement, violation.details + (try explanation(of: violation, state)))
    }
  }

  private func history(_ server: Connection) throws -> HistoryCheck {
    var handled: Set<String> = []
    var resent = circumstances.resent
    // A policy may choose the old value of a record, too, when a restored server does not know the device's epoch.
    for device in devices where circumstances.mayLackBases { resent.formUnion(try device.decidedWithoutBase()) }
    for device in devices {
      for entry in try device.entries().entries {
        if [.delete, .revive, .decide].contains(entry.kind) { handled.insert(entry.uuid) }
        // Whose epoch a restored server does not know has a conflict, and its old value may be chosen.
        if entry.kind == .decide, circumstances.mayLackBases { resent.insert(entry.uuid) }
      }
    }
    return HistoryCheck(
      history: try store.history(in: server), connection: server,
      entities: try AccountSchema([workload.schema().schema], environment: .system).entities,
      store: store, operations: circumstances.operations,
      handled: handled, resent: resent, misplaced: circumstances.misplaced,
      referringToHidden: circumstances.referringToHidden)
  }

  private func decided() throws -> Set<String> {
    var uuids: Set<String> = []
    for device in devices { uuids.formUnion(try device.entries().entries.filter { $0.kind == .decide }.map(\.uuid)) }
    return uuids
  }

  private func checkJournals(_ history: HistoryCheck) throws {
    var markers: [String: Set<String>] = [:]
    var deleted = circumstances.lostTombstones.union(try store.tombstones(in: history.connection))
    for version in circumstances.lostHistories.joined() + history.history {
      markers[version.uuid, default: []].insert(version.marker ?? "")
      if version.isDeleted { deleted.insert(version.uuid) }
    }
    // The empty account had a value, and a user of another device edited it there. The server has the value of this user, although
    // it never had the first one.
    let seen = try seenValues()
    for uuid in circumstances.misplaced {
      for marker in markers[uuid] ?? [] {
        var value = seen[marker]
        while let earlier = value, markers[uuid, default: []].insert(earlier).inserted { value = seen[earlier] }
      }
    }
    var restored: [String: Set<String>] = [:]
    for device in devices {
      restored[device.name] = Set(try device.entries().entries.filter { $0.kind == .revive }.map(\.uuid))
    }
    for device in devices {
      let others = restored.filter { $0.key != device.name }.values
      try device.read { connection in
        try JournalCheck(
          device: device, connection: connection, markers: markers, deletedAtServer: deleted,
          resent: circumstances.resent, restoredElsewhere: others.reduce(into: []) { $0.formUnion($1) },
          misplaced: circumstances.misplaced, left: circumstances.left[device.name] ?? []
        ).check()
      }
    }
  }

  /// The values that users replaced, by the values that they wrote.
  private func seenValues() throws -> [String: String] {
    var seen: [String: String] = [:]
    for device in devices {
      for entry in try device.entries().entries where entry.kind == .mark { seen[entry.marker] = entry.seen }
    }
    return seen
  }

  /// A violation that names records without saying all about them gets that added.
  private func explaining(_ state: StateOfRecord, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let violation as Violation where violation.statement != 6 {
      throw Violation(violation.statement, violation.details + (try explanation(of: violation, state)))
    }
  }

  private func explanation(of violation: Violation, _ state: StateOfRecord) throws -> [String] {
    var lines: [String] = []
    var seen: Set<String> = []
    for detail in violation.details {
      for kind in workload.kinds {
        for place in detail.ranges(of: kind.entity + " ") {
          let uuid = String(detail[place.upperBound...].prefix { $0 != " " && $0 != ":" })
          if uuid.count == 36, seen.count < 4, seen.insert(uuid).inserted {
            lines += try state.lines(kind.entity, uuid)
          }
        }
      }
    }
    return lines
  }
}
