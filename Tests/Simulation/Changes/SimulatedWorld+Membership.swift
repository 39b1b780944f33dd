import CipherSQL
import SQLCipherStorage
import TestSupport

extension SimulatedWorld {
  /// Limits the devices to the projects of their users, in a schema with memberships.
  func limitToMembers() throws {
    guard workload.kind(VisibleRecords.membership) != nil, server.mirror == nil else { return }
    for user in users { try connect(user) }
    try setMembership(true)
  }

  /// Connects a user with another record, or ends the limit for a moment, now and then.
  func changeMembers() throws {
    guard try isLimitedToMembers() else { return }
    if changes.random.chance(0.06) { try connect(changes.random.pick(users)) }
    if changes.random.chance(0.02) {
      try setMembership(false)
      try setMembership(true)
    }
  }

  /// Whether the account limits its devices. A restored server may have forgotten that.
  func isLimitedToMembers() throws -> Bool {
    guard workload.kind(VisibleRecords.membership) != nil, server.mirror == nil else { return false }
    return try withDirectory { directory in try directory.listedAccounts().contains(where: \.limitsToMembers) }
  }

  /// Begins or ends the limit.
  func setMembership(_ isLimited: Bool) throws {
    _ = try withDirectory { directory in try directory.setMembership(isLimited, of: "one") }
    trace.note("change", isLimited ? "devices are limited to the projects of their users" : "devices are not limited")
  }

  /// Checks all responses to limited users from now on, in a schema with memberships.
  func watchMembers() {
    guard workload.kind(VisibleRecords.membership) != nil, api == nil else { return }
    var known: [String: (entity: String, uuid: String)] = [:]
    var read: [String: Int] = [:]
    server.membershipWatch = MembershipWatch(
      MembershipWatch.Facts(
        user: { [unowned self] name in devices.first { $0.name == name }?.user },
        record: { [unowned self] value in
          for device in devices {
            let entries = device.journal.entries
            for entry in entries[read[device.name, default: 0]...] where entry.kind == .mark {
              known[entry.marker] = (entry.entity, entry.uuid)
            }
            read[device.name] = entries.count
          }
          return known[value]
        },
        creators: { [unowned self] uuid in
          let creates = network.operations.filter { $0.value.entityUuid == uuid && $0.value.kind == .create }
          let senders = Set(creates.compactMap { network.senders[$0.key] })
          return Set(devices.filter { senders.contains($0.name) }.map(\.user))
        }), trace)
  }

  /// Checks that each device has the records that its user sees when everything is quiet, and ends the limit.
  func settleMembers(resolves: Bool) throws {
    guard workload.kind(VisibleRecords.membership) != nil, server.mirror == nil, try isLimitedToMembers() else {
      return
    }
    trace.tally("ends with memberships")
    let seed = random.next()
    // A record that moves to another project stays on devices of the former one until a comparison.
    let quiet = OneThread(
      value: Quiet(devices: devices, resolves: resolves, depth: workload.depth, mayDiffer: true))
    let isQuiet = try scheduler.finish(within: 48 * 3_600_000_000) { () -> Bool in
      var random = Seeded(seed)
      try await quiet.value.settle(&random)
      return true
    }
    guard isQuiet == true else { throw Violation(5, "the devices do not become quiet in two days") }
    let server = server
    try perform { try await server.stop(byPowerCut: false) }
    guard let watch = server.membershipWatch else { return }
    try endCheck.checkVisible(try VisibleRecords(server), watch.facts)
    try setMembership(false)
    try perform { try await server.start() }
  }

  private var users: [String] { Set(devices.map(\.user)).sorted() }

  /// Connects a user with the record of a worker, which other users may have as well, or with none.
  private func connect(_ user: String) throws {
    let workers = try repeatingAfterFault {
      let database = try server.store.open()
      defer { database.close() }
      return try database.read { connection in
        try connection.fetch(
          """
          SELECT entityUuid FROM ServerRecord WHERE entityType = \(VisibleRecords.user) AND isDeleted = 0 ORDER BY entityUuid
          """, as: String.self)
      }
    }
    let worker = workers.isEmpty || changes.random.chance(0.1) ? nil : changes.random.pick(workers)
    try withDirectory { directory in try directory.linkUser(user, to: worker) }
    trace.note("change", "\(user) is \(worker.map { "worker \($0)" } ?? "no worker")")
  }

  private func withDirectory<Result>(_ body: (ServerDirectory) throws -> Result) throws -> Result {
    try repeatingAfterFault {
      let directory = try ServerDirectory(in: try server.folder())
      defer { directory.close() }
      return try body(directory)
    }
  }

  /// Does the work of an operator. The disk of the server may fail at that moment, shortly after an upgrade; the operator then
  /// does it again after the repair.
  private func repeatingAfterFault<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      guard server.machine.hasFailed else { throw error }
      try repair()
      return try body()
    }
  }
}
