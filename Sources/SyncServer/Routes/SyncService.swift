import CipherSQL
import HTTPServer
import Platform
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The routes of records, over any storage.
struct SyncService: Sendable {
  let storage: any RecordStorage
  let limits: ServerLimits
  let limiter: RateLimiter
  let serverUuid: String
  let log: RequestLog
  /// Whether files go to an object store.
  let isPresigned: Bool
  /// The time under which changes are stored, for a time of the wall clock.
  let storingTime: @Sendable (Int64) -> Int64
  let environment: Environment
  /// Receives the result of each operation.
  private let counted: @Sendable (PushResult.Outcome) -> Void
  private let waiting: Locked<WaitingPlaces>
  /// Notes the requests of devices; `nil` to note none.
  private let contacts: Contacts?
  /// Whether the schemas have records that make users members of projects.
  private let hasMemberships: Bool

  init(
    storage: any RecordStorage, limits: ServerLimits, serverUuid: String, log: RequestLog, environment: Environment,
    isPresigned: Bool = false, storingTime: @escaping @Sendable (Int64) -> Int64 = { $0 },
    counted: @escaping @Sendable (PushResult.Outcome) -> Void = { _ in }, contacts: Contacts? = nil
  ) {
    self.contacts = contacts
    (self.storage, self.limits, self.serverUuid, self.log) = (storage, limits, serverUuid, log)
    (self.environment, self.isPresigned, self.storingTime) = (environment, isPresigned, storingTime)
    self.counted = counted
    hasMemberships = storage.entities.values.contains(where: \.isMembership)
    waiting = Locked(WaitingPlaces(limit: limits.waiters, perUser: limits.waitersPerUser))
    limiter = RateLimiter(
      burst: limits.requestBurst, perSecond: limits.requestsPerSecond, clock: environment.clock)
  }

  /// The number of requests that wait for a change.
  var waitingCount: Int { waiting.withLock { $0.count } }
  /// Returns the number of requests of an account that wait for a change.
  func waitingCount(of account: AccountName) -> Int { waiting.withLock { $0.count(of: account.folder) } }
  /// The greatest number of requests that wait at the same time.
  var waitingLimit: Int { waiting.withLock { $0.limit } }

  /// Uses other rates and numbers of waiting requests from now on. Requests that wait go on.
  func change(_ limits: ServerLimits) {
    limiter.change(burst: limits.requestBurst, perSecond: limits.requestsPerSecond)
    waiting.withLock { ($0.limit, $0.limitPerUser) = (limits.waiters, limits.waitersPerUser) }
  }

  /// Returns the caller as the records name it.
  func viewer(_ member: Member) -> Viewer {
    let viewer = member.viewer
    return hasMemberships ? viewer : Viewer(userId: viewer.userId, record: viewer.record)
  }

  private var openAPI: OpenAPI { OpenAPI(limits: limits, isPresigned: isPresigned) }
  var now: Int64 { environment.now }

  /// The route whose requests wait.
  static let watchPattern = "/v1/watch"

  /// The rules of these routes. Files have a contract of their own, which does not depend on the version of the wire format.
  var dialect: RouteDialect { RouteDialect(limiter: limiter, takesJSON: true, checkVersion: Self.checkVersion) }

  /// All routes, in the order in which they are described.
  var routes: [Route<Member>] {
    let records = dialect
    return [
      Route("GET", "/v1/health", .open { self.health() }, records),
      Route("GET", "/v1/ready", .open { try await self.ready() }, records),
      Route("GET", "/v1/openapi.json", .open { Response.json(try self.openAPI.document()) }, records),
      Route("GET", "/v1/account", .authenticated { try await self.account($0) }, records),
      Route("POST", "/v1/push", .authenticated { try await self.push($0) }, records),
      Route("GET", "/v1/changes", .authenticated { try await self.changes($0) }, records),
      Route("GET", Self.watchPattern, .authenticated { try await self.watch($0) }, records),
      Route("GET", "/v1/digests", .authenticated { try await self.digests($0) }, records),
      Route("GET", "/v1/digests/{entity}", .authenticated { try await self.buckets($0) }, records),
      Route("GET", "/v1/digests/{entity}/{buckets}", .authenticated { try await self.bucketRecords($0) }, records),
      Route("POST", "/v1/records", .authenticated { try await self.records($0) }, records),
    ]
  }

  /// Refuses an administrator, except for the account itself and its export. An administrator neither pushes nor pulls.
  static func authorize(_ member: Member, _ pattern: String, _: Request) throws(HTTPProblem) {
    guard member.role != .admin || AccountService.patternsOfAdmins.contains(pattern) else { throw .notForAdmins }
  }

  private static func checkVersion(_ request: Request) throws(HTTPProblem) {
    guard WireProtocol.accepts(request.headers[WireProtocol.header.lowercased()]) else { throw .otherProtocol }
  }

  func health() -> Response {
    .json(ServerHealth(serverTime: now).wire)
  }

  /// A load balancer sends requests only to nodes that respond to it with 200.
  func ready() async throws -> Response {
    do {
      try await storage.checkReadiness()
    } catch {
      log.failure("the server is not ready: \(error)")
      throw HTTPProblem.notReady
    }
    return health()
  }

  private func account(_ call: RouteCall<Member>) async throws -> Response {
    let epoch = try await storage.read(call.caller.account) { try $0.epochs.current }
    return .json(
      AccountInfo(
        serverUuid: serverUuid, epoch: epoch, account: call.caller.account.name, user: call.caller.name,
        role: call.caller.role, serverTime: now,
        schemas: storage.schemas.map { AccountInfo.Schema(name: $0.name, version: Int64($0.version)) }
      ).wire)
  }
}

extension RouteCall {
  /// Returns the projects of the request; `nil` for all projects.
  func projects() throws(HTTPProblem) -> Set<String>? {
    guard let text = request.query["projects"] else { return nil }
    let projects = text.split(separator: ",").map(String.init)
    let greatest = ChangesPage.greatestProjectCount
    guard !projects.isEmpty, projects.count <= greatest, projects.allSatisfy(UUIDText.isCanonical) else {
      throw .invalid("projects must be 1 to \(greatest) comma-separated UUIDs", field: "projects")
    }
    return Set(projects)
  }
}

extension SyncService {
  func push(_ call: RouteCall<Member>) async throws -> Response {
    let request = try call.body(as: PushEnvelope.self)
    guard request.operations.count <= limits.pushOperations else {
      throw HTTPProblem(
        413, "Too many operations", "a request may have at most \(limits.pushOperations) operations",
        field: "operations")
    }
    let sent = try request.operations.map { operation throws(HTTPProblem) in try SentOperation(operation) }
    try checkSchemas(of: sent)
    try PushId.check(device: request.deviceId, "deviceId")
    // A client may name its device in the body only.
    if call.request.device == nil { try contacts?.admit(request.deviceId, call.caller) }
    let (device, cursor) = (request.deviceId, request.cursor)
    let mark = DeviceCounter(counter: request.deviceCounter, operations: sent.map(\.content))
    // A client that disconnects cancels its request. The work continues, and the repeated request finds the stored
    // responses.
    let (role, viewer, storedAt) = (call.caller.role, viewer(call.caller), storingTime(now))
    let work = startTask { [storage, now, log, limits] in
      try await storage.write(call.caller.account) { [entities = storage.entities] data in
        data.sender = viewer
        try data.prepare(sent.map { $0.outline(in: entities) })
        let known = try data.mark(of: device)
        if mark.provesCopy(after: known) { throw HTTPProblem.deviceCopied }
        if known == nil, let most = limits.devicesPerAccount, try data.deviceIds.count >= most {
          throw HTTPProblem.tooManyDevices(most)
        }
        try data.keep(mark, of: device, at: storedAt)
        let batch = PushBatch(
          entities: entities, epochs: try data.epochs, now: now, storedAt: storedAt, role: role, viewer: viewer,
          recordLimit: limits.recordsPerAccount, log: log)
        return try Self.perform(sent, cursor: cursor, batch, in: data)
      }
    }
    let response = try await work.value
    for result in response.results { counted(result.outcome) }
    if let cursor = response.cursor {
      contacts?.note(device, call.caller, hasRead: try Cursor(cursor).position.sequence)
    }
    return .json(response.wire, device: device)
  }

  private static func perform(
    _ operations: [SentOperation], cursor text: String?, _ batch: PushBatch, in data: any RecordWriting
  ) throws -> PushResponse {
    let before = try data.lastSequence
    var batch = batch
    var response = PushResponse(serverTime: batch.now, epoch: batch.epochs.current, cursor: nil, results: [])
    for operation in operations { response.results.append(try batch.perform(operation, in: data)) }
    // The next page for a user who sees some projects follows the memberships that changed.
    let followsMemberships = batch.viewer.isLimited && data.hasMembershipChanges
    if let text, batch.isUnmodified, !followsMemberships, let cursor = try known(text, data),
      cursor.position.sequence == before
    {
      // No other device changed a record: this one has seen everything up to here.
      response.cursor = cursor.moved(to: try data.lastSequence).text
    }
    return response
  }

  /// Parses the cursor of a push. It is only an optimization, so an unknown cursor is ignored.
  private static func known(_ text: String, _ data: any RecordReading) throws -> Cursor? {
    do {
      return try Cursor(text, for: data)
    } catch is HTTPProblem {
      return nil
    }
  }

  private func checkSchemas(of operations: [SentOperation]) throws(HTTPProblem) {
    for operation in operations {
      guard case .text(let type)? = operation.members["entityType"],
        case .integer(let version)? = operation.members["schemaVersion"], let entity = storage.entities[type],
        let served = storage.schemas.first(where: { $0.name == entity.schemaName }), version > served.version
      else { continue }
      throw HTTPProblem(
        409, "The server's schema is too old", "the server has version \(served.version) of the schema \(served.name)",
        type: ServerProblem.schemaTooOld)
    }
  }
}

extension SyncService {
  func changes(_ call: RouteCall<Member>) async throws -> Response {
    let limit = try call.integer("limit", default: min(500, limits.pageSize), in: 1...limits.pageSize)
    let projects = try call.projects()
    let request = ChangesRequest(
      viewer: viewer(call.caller), cursor: call.request.query["cursor"], limit: limit, projects: projects)
    let (page, records, position) = try await page(request, of: call.caller.account)
    contacts?.note(call.request.device, call.caller, hasRead: position)
    return .json(try page.page.json(with: records))
  }

  /// Returns a page of the changes that a user sees.
  /// - Throws: ``HTTPProblem`` with 410 for a cursor from which the server cannot continue.
  func page(_ request: ChangesRequest, of account: AccountName) async throws -> ChangesRequest.Page {
    let now = now
    return try await storage.read(account) { try request.read($0, at: now) }
  }

  func watch(_ call: RouteCall<Member>) async throws -> Response {
    let seconds = try call.integer("timeout", default: 50, in: 1...55)
    guard let text = call.request.query["cursor"] else {
      throw HTTPProblem.invalid("cursor is missing", field: "cursor")
    }
    let cursor = try Cursor(text)
    let device = call.request.query["deviceId"]
    if let device { try PushId.check(device: device, "deviceId", isParameter: true) }
    if let device, call.request.device == nil { try contacts?.admit(device, call.caller) }
    contacts?.note(device ?? call.request.device, call.caller, hasRead: cursor.position.sequence)
    let projects = try call.projects()
    let viewer = viewer(call.caller)
    guard viewer.isLimited == (cursor.members != nil) else { throw HTTPProblem.unknownCursor }
    var followed = projects
    if viewer.isLimited {
      guard let topics = try await memberTopics(call.caller.account, viewer, cursor, projects: projects) else {
        return .json(WatchResponse(changed: true).wire, device: device)
      }
      followed = topics
    }
    let request = ChangeRequest(after: cursor.position, projects: followed, device: device, seconds: seconds)
    let begin = environment.clock.instant()
    let place = WaitingPlaces.Place(
      account: call.caller.account.folder, user: call.caller.userId, end: begin + .seconds(seconds))
    let ticket: Int
    switch waiting.withLock({ $0.admit(place) }) {
    case .waits(let number): ticket = number
    case .refused(let time):
      throw HTTPProblem.tooManyRequests(retryAfter: max(1, Int(((time - begin) / .seconds(1)).rounded(.up))))
    }
    defer { waiting.withLock { $0.free(ticket) } }
    switch try await storage.waitForChange(call.caller.account, request) {
    case .unknownPosition: throw HTTPProblem.unknownCursor
    case .changed: return .json(WatchResponse(changed: true).wire, device: device)
    case .unchanged(let sequence):
      let next = sequence == cursor.position.sequence ? nil : cursor.moved(to: sequence).text
      return .json(WatchResponse(changed: false, cursor: next).wire, device: device)
    }
  }

  private static let responseWeight = 64 << 20
  private static let tooMuch = HTTPProblem(413, "The response would be too large", "request fewer records at a time")

  func records(_ call: RouteCall<Member>) async throws -> Response {
    let request = try call.body(as: RecordsRequest.self)
    let (type, uuids) = (request.entityType, request.uuids)
    guard storage.entities[type] != nil else {
      throw HTTPProblem.invalid("unknown entity", field: "entityType")
    }
    guard uuids.count <= limits.recordsPerRequest else {
      throw HTTPProblem.invalid("uuids must be a list of at most \(limits.recordsPerRequest) UUIDs", field: "uuids")
    }
    guard uuids.allSatisfy(UUIDText.isCanonical) else {
      throw HTTPProblem.invalid("uuids must be lowercase UUIDs", field: "uuids")
    }
    let entities = storage.entities
    let now = now
    let viewer = viewer(call.caller)
    try await storage.applyPendingCascades(call.caller.account, uuids.map { RecordName(type, $0) })
    return try await storage.read(call.caller.account) { data in
      let scope = try data.scope(of: viewer)
      let current = try data.epochs.current
      var found: [RemoteRecord] = []
      var missing: [String] = []
      var weight = 0
      for uuid in uuids {
        if let located = try data.located(RecordName(type, uuid)), scope?.includes(located.project) != false {
          let record = located.record
          weight += record.weight
          if weight > Self.responseWeight, !found.isEmpty { throw Self.tooMuch }
          // Within one epoch all versions are shared.
          let shared = try request.epoch.flatMap { $0 == current ? nil : try data.sharedVersion(of: record, with: $0) }
          found.append(record.remote(entities, sharedVersion: shared))
        } else {
          missing.append(uuid)
        }
      }
      return .json(RecordsResponse(serverTime: now, epoch: current, changes: found, missing: missing).wire)
    }
  }
}

extension ServerRecord {
  /// The record in the wire format.
  /// - Parameter sharedVersion: the version for a device of another epoch; `nil` for other devices.
  func remote(_ entities: [String: EntityDescription], sharedVersion: Int64? = nil) -> RemoteRecord {
    RemoteRecord(
      name, serverId: serverId, createdAt: createdAt, state: state, deletedWith: deletedWith,
      keepsUserEditedFields: entities[name.entityType]?.hasUserEdits == true, sharedVersion: sharedVersion)
  }
}
