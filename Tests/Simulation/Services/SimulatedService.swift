import HTTPClient
import Platform
import SyncEngine
import SyncModel
import TestSupport

/// A program beside the server that fills fields of scans, as text recognition does. It pushes with the role `service`.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class SimulatedService: @unchecked Sendable {
  static let entity = "Scan"
  /// The fields that belong to the server, and those that users may correct.
  static let serverFields = ["words", "confidence"], conditionalFields = ["shop", "category"]
  /// Begins each value of the service. No user enters such a value.
  static let prefix = "SERVICE-"

  private let machine: Machine
  private let trace: Trace
  private let remote: FieldVaultRemote
  private var random: Seeded
  private var known: [String: RemoteRecord] = [:]
  private var epoch: String?
  private var cursor: String?
  private var pushes: Int64 = 0
  private var values = 0
  /// The operation whose response has not arrived.
  private(set) var unanswered: PushOperation?
  private var task: Task<Void, Never>?
  /// By record: the version of the last push that the server stored, and its values of server-owned fields.
  private(set) var written: [String: (version: Int64, fields: [String: SyncValue])] = [:]
  /// A violation that a response has shown.
  private(set) var violation: Violation?

  init(_ machine: Machine, token: String, _ network: SimulatedNetwork, _ trace: Trace, _ random: Seeded) throws {
    (self.machine, self.trace, self.random) = (machine, trace, random)
    var limits = TransportLimits()
    limits.idleSeconds = 30
    remote = FieldVaultRemote(
      transport: HTTPTransport(
        address: try ServerAddress(SimulatedDevice.url), limits: limits, clock: machine.environment.clock,
        backend: network.backend(of: "service")
      ) { token })
  }

  func start() { task = machine.scheduler.start { await self.run() } }

  func stop() async {
    task?.cancel()
    await task?.value
    task = nil
  }

  private func run() async {
    while !Task.isCancelled {
      do { try await machine.scheduler.sleep(Int64(random.number(1_000_000..<30_000_000))) } catch { return }
      do {
        try await read()
        try await push()
      } catch {
        trace.note("service", "meets \(error.responseClass)")
        if error.responseClass == .cursorUnknown { forget() }
      }
    }
  }

  private func forget() { (known, cursor, epoch) = ([:], nil, nil) }

  private func read() async throws(RemoteFailure) {
    var hasMore = true
    while hasMore {
      let page = try await remote.changes(cursor: cursor, limit: 100, projects: [])
      if let epoch, epoch != page.epoch { return forget() }
      for record in page.changes where record.entityType == Self.entity {
        known[record.entityUuid] = record.state.isDeleted ? nil : record
      }
      (epoch, cursor, hasMore) = (page.epoch, page.cursor, page.hasMore)
    }
  }

  private func push() async throws(RemoteFailure) {
    guard let operation = unanswered ?? next() else { return }
    unanswered = operation
    pushes += 1
    let response = try await remote.push(
      PushRequest(deviceId: "service", deviceCounter: pushes, cursor: nil, operations: [operation]))
    unanswered = nil
    guard let outcome = response.results.first?.outcome else { return }
    trace.note("service", "\(operation.entityUuid) \(Self.name(of: outcome))")
    switch outcome {
    case .accepted(let version, _, _): note(operation, version)
    case .merged(let record, _):
      note(operation, record.state.syncVersion)
      look(at: record.state, after: operation)
    default: break
    }
  }

  /// An update of some fields of any record, at times on top of an older version, and with a list of edits that a service may
  /// not write.
  private func next() -> PushOperation? {
    let uuids = known.keys.sorted()
    guard !uuids.isEmpty, let record = known[random.pick(uuids)], let epoch else { return nil }
    var (fields, base): (SyncObject, SyncObject) = ([:], [:])
    for name in Self.serverFields + Self.conditionalFields where random.chance(0.5) {
      values += 1
      fields[name] = .text("\(Self.prefix)\(values)")
      base[name] = record.state.fields[name]
    }
    if fields.isEmpty { return nil }
    let name = "service-\(values)"
    return PushOperation(
      operationId: name, idempotencyKey: name, kind: .update, entityType: Self.entity, entityUuid: record.entityUuid,
      baseVersion: random.chance(0.2) ? max(1, record.state.syncVersion - 1) : record.state.syncVersion,
      baseEpoch: epoch,
      schemaVersion: 1,
      patch: RecordPatch(
        fields: fields, userEditedFields: random.chance(0.3) ? Set(Self.serverFields) : [], updatedAt: machine.wall),
      base: base)
  }

  private func note(_ operation: PushOperation, _ version: Int64) {
    guard version >= written[operation.entityUuid]?.version ?? 0 else { return }
    var fields = written[operation.entityUuid]?.fields ?? [:]
    for name in Self.serverFields { fields[name] = operation.patch.fields[name] ?? fields[name] }
    written[operation.entityUuid] = (version, fields)
  }

  /// A merge keeps the fields that users have edited, and takes the others from the service.
  private func look(at state: RecordState, after operation: PushOperation) {
    for member in operation.patch.fields.members {
      let isTaken = state.fields[member.name] == member.value
      guard isTaken == state.userEditedFields.contains(member.name) else { continue }
      violation = Violation(
        1,
        [
          "the service's value of \(member.name) \(isTaken ? "replaces that of a user" : "is dropped"):",
          "\(Self.entity) \(operation.entityUuid)",
        ])
    }
  }

  private static func name(of outcome: PushResult.Outcome) -> String {
    switch outcome {
    case .accepted: "accepted"
    case .merged: "merged"
    case .conflict(let kind, _, _, _): "conflict \(kind.rawValue)"
    case .rejected(let problem): "rejected \(problem.status)"
    case .waiting: "waiting"
    }
  }
}
