import Platform
import VaultStore
import SyncModel
import HTTPClient

/// One operation on its way to an API.
struct RestPush: Sendable {
  let client: RestClient
  let records: RestRecords
  let operation: PushOperation

  /// The result, and the records that proved to be deleted.
  struct Sent: Sendable {
    var outcome: PushResult.Outcome
    var gone: RemoteDeletions?
  }

  func send() async throws(RemoteFailure) -> Sent {
    guard let table = records.table(operation.entityType), let routes = client.file.entities[operation.entityType]
    else {
      return refused("the server does not store \(operation.entityType) records")
    }
    let stored = try await records.record(operation.entityType, operation.entityUuid)
    let fields = (stored?.state.fields ?? [:]).overlaid(with: operation.patch.fields)
    let body = RestBody(
      records: records, routes: routes, table: table, uuid: operation.entityUuid, serverId: stored?.serverId,
      fields: fields)
    do {
      switch operation.kind {
      case .create: return try await create(body, routes)
      case .update where operation.patch.isDeleted == false: return try await create(body, routes)
      case .update: return try await update(body, routes, stored)
      case .delete: return try await delete(body, routes, headers: headers(routes))
      }
    } catch let missing as RestBody.Missing {
      if missing.isForNow {
        throw RemoteFailure(.attempt, message: missing.message, remedy: .sync)
      }
      return refused(missing.message)
    } catch let failure as RemoteFailure {
      throw failure
    } catch {
      throw RemoteFailure(.refused, message: "\(error)", remedy: .checkVault)
    }
  }

  private var version: Int64 { operation.baseVersion + 1 }

  private func refused(_ detail: String, status: Int = 422) -> Sent {
    Sent(outcome: .rejected(ServerProblem(title: "", status: status, detail: detail)))
  }

  // MARK: Made

  private func create(_ body: RestBody, _ routes: EntityRoutes) async throws -> Sent {
    // The image creates the record and waits only for its parent, which exists.
    if routes.goesWithImage { return Sent(outcome: .accepted(version: version, serverId: nil)) }
    guard let call = routes.create else {
      return refused("the server does not accept new \(operation.entityType) records")
    }
    if let problem = client.unfitIds(of: operation.entityType) { return refused("nothing was sent: \(problem)") }
    var sent = body
    sent.fields = body.fields.overlaid(with: operation.earlierFields ?? [:])
    if operation.isRepeated,
      let found = try await RestLookUp(client: client, records: records, body: sent, routes: routes).find()
    {
      return try await stored(found.value, found.id, body, routes)
    }
    let response = try await client.ask(
      call.method, try await body.path(call.path), body: .object(try await body.members()), headers: headers(routes))
    switch response {
    case .done(let record):
      guard let id = record.flatMap({ routes.id.value(in: $0) }).flatMap({ RestRecords.id($0, of: body.table) }) else {
        if let value = record.flatMap({ routes.id.value(in: $0) }), value != .null {
          client.note(unfitId: value, of: body.table, at: routes.id)
        }
        return try await takenWithoutId(body, routes)
      }
      // The API may return the response to an earlier request with the same key.
      if let record, operation.isRepeated, case .header? = routes.repeats {
        // The key proves that the API has stored this payload. Other values are later changes, which the next list brings.
        if !operation.hasOnePayload { return try await stored(record, id, body, routes) }
      }
      return Sent(outcome: .accepted(version: version, serverId: id))
    case .gone: return try await parentGone(body, call, routes)
    case .invalid(let status, let detail): return refusedCreate(detail, status, routes)
    default: throw RestClient.failure(response) ?? .offline
    }
  }

  /// The refusal of a repetition does not tell whether the API has stored an earlier attempt. A look-up does.
  private func refusedCreate(_ detail: String, _ status: Int, _ routes: EntityRoutes) -> Sent {
    guard operation.isRepeated, case .header? = routes.repeats else { return refused(detail, status: status) }
    return perhapsTaken(detail, status: status)
  }

  /// The API may have stored the record, so the operation keeps its key and its first payload.
  private func perhapsTaken(_ detail: String, status: Int = 422) -> Sent {
    Sent(outcome: .rejected(ServerProblem(type: ServerProblem.perhapsTaken, title: "", status: status, detail: detail)))
  }

  /// The API has stored the record and does not name its id.
  private func takenWithoutId(_ body: RestBody, _ routes: EntityRoutes) async throws -> Sent {
    if let found = try await RestLookUp(client: client, records: records, body: body, routes: routes).find() {
      return Sent(outcome: .accepted(version: version, serverId: found.id))
    }
    return perhapsTaken(
      "the server accepted it, but its response has no id at '\(routes.id)' that fits "
        + "\(body.table.entity.type).serverId; correct the route file or the table before a retry")
  }

  private func headers(_ routes: EntityRoutes) -> [(name: String, value: String)] {
    guard case .header(let name)? = routes.repeats else { return [] }
    return [(name, operation.idempotencyKey ?? operation.operationId)]
  }

  /// The response under the key of the operation is that to its first request. A repeated change or deletion needs no key of its own.
  private func headersOfAnotherRequest(_ routes: EntityRoutes) -> [(name: String, value: String)] {
    guard case .header(let name)? = routes.repeats else { return [] }
    return [(name, UUIDText.text(.version4(random: client.environment.random)))]
  }

  // MARK: Stored earlier

  /// The API has stored the record, perhaps from an earlier payload or from another device. Other values are sent as a
  /// change. Otherwise they would count as stored, and the next list would overwrite them.
  private func stored(
    _ record: SyncValue, _ id: ServerId, _ body: RestBody, _ routes: EntityRoutes
  ) async throws -> Sent {
    if let moved = unsendableMove(Set(body.fields.names.filter { isEdited($0, body) }), body) {
      return perhapsTaken(moved)
    }
    let accepted = Sent(outcome: .accepted(version: version, serverId: id))
    let different = try await differences(from: record, body, routes)
    if different.isEmpty { return accepted }
    guard let call = routes.update else {
      // Values that the user has not edited since may be the API's own form of the sent ones.
      let edited = different.filter { isEdited($0, body) }
      if edited.isEmpty { return accepted }
      return perhapsTaken(
        "the server already has the record with another \(edited.sorted().joined(separator: ", ")) "
          + "and accepts no changes to \(operation.entityType) records")
    }
    var body = body
    body.serverId = id
    let members = try await body.members(only: call.method == "PATCH" ? different : nil, cleared: different)
    let response = try await client.ask(
      call.method, try await body.path(call.path), body: .object(members), headers: headersOfAnotherRequest(routes))
    switch response {
    case .done: return accepted
    case .gone: return Sent(outcome: .conflict(.deletedRemotely, fields: [], record: nil))
    case .invalid(let status, let detail): return perhapsTaken(detail, status: status)
    default: throw RestClient.failure(response) ?? .offline
    }
  }

  /// Returns the fields that the API has with other values. A field without a value, or that the response lacks, counts
  /// only if the user has edited it since the earlier payload, because the API may fill fields itself.
  private func differences(
    from record: SyncValue, _ body: RestBody, _ routes: EntityRoutes
  ) async throws -> Set<String> {
    let places = routes.sentFields(of: body.table)
    var different: Set<String> = []
    for column in body.table.columns {
      guard let place = places[column.name] else { continue }
      let value = body.fields[column.name] ?? .null
      let there = place.value(in: record)
      if there == nil || value == .null, !isEdited(column.name, body) { continue }
      if let there, RestValue.isSame(there, try await body.said(value, column.name), column) { continue }
      different.insert(column.name)
    }
    return different
  }

  /// Returns whether the user has edited a field since an earlier payload that the API may have stored.
  private func isEdited(_ name: String, _ body: RestBody) -> Bool {
    operation.earlierFields.map { $0[name] ?? .null != body.fields[name] ?? .null } ?? false
  }

  /// Returns the problem of a change of a parent that only the path of a create names; `nil` without such a change.
  private func unsendableMove(_ changed: Set<String>, _ body: RestBody) -> String? {
    let sent = body.routes.sentFields(of: body.table)
    let names = Set(body.routes.create?.path.placeholders.compactMap(\.first) ?? []).intersection(changed)
    guard let name = names.sorted().first(where: { sent[$0] == nil }) else { return nil }
    return "the server accepts no other \(name) for an existing \(operation.entityType)"
  }

  // MARK: Changed

  private func update(_ body: RestBody, _ routes: EntityRoutes, _ stored: StoredRecord?) async throws -> Sent {
    // The record is sent with its image, with the values of that time.
    if routes.goesWithImage, body.serverId == nil { return Sent(outcome: .accepted(version: version, serverId: nil)) }
    guard let call = routes.update else {
      return refused("the server does not accept changes to \(operation.entityType) records")
    }
    let changed = Set(operation.patch.fields.names)
    if let moved = unsendableMove(changed, body) { return refused(moved) }
    // PATCH sends the changes (RFC 5789), PUT the whole record (RFC 9110).
    let members = try await body.members(only: call.method == "PATCH" ? changed : nil, cleared: changed)
    // No changed field is sent to the API.
    if members.isEmpty { return Sent(outcome: .accepted(version: version, serverId: nil)) }
    let response = try await client.ask(
      call.method, try await body.path(call.path), body: .object(members), headers: headers(routes))
    switch response {
    case .done: return Sent(outcome: .accepted(version: version, serverId: nil))
    case .gone:
      // The API could never store the edits of a record that this device has deleted as well. Its deletion ends with this operation, so
      // it is sent: an API may respond with 404 for a record that it has.
      if stored?.state.isDeleted == true, routes.delete != nil {
        let deletion = try await delete(body, routes, headers: headersOfAnotherRequest(routes))
        if case .rejected = deletion.outcome { return deletion }
      }
      let fields = stored.map { $0.state.isDeleted ? $0.state.fields : [:] } ?? [:]
      let state = RecordState(
        fields: fields, isDeleted: true, syncVersion: version, updatedAt: client.serverTime)
      let remote = RemoteRecord(
        entityType: operation.entityType, entityUuid: operation.entityUuid, serverId: body.serverId,
        createdAt: client.serverTime, state: state)
      return Sent(
        outcome: .conflict(.deletedRemotely, fields: operation.patch.fields.names, record: remote),
        gone: RemoteDeletions(root: nil, followers: try await followers))
    case .invalid(let status, let detail): return refused(detail, status: status)
    default: throw RestClient.failure(response) ?? .offline
    }
  }

  // MARK: Deleted

  private func delete(
    _ body: RestBody, _ routes: EntityRoutes, headers: [(name: String, value: String)]
  ) async throws -> Sent {
    guard body.serverId != nil else {
      // The image that is being sent creates the record. Its response names the id.
      if routes.goesWithImage, try await records.isUploading(body.fields["contentUuid"]) {
        return refused("its image is being sent", status: 429)
      }
      return Sent(outcome: .accepted(version: 0, serverId: nil))
    }
    guard let call = routes.delete else {
      return refused("the server does not accept deletions of \(operation.entityType) records")
    }
    let response = try await client.ask(call.method, try await body.path(call.path), headers: headers)
    switch response {
    case .done, .gone:
      // The API has deleted the dependents as well, and would not report it.
      return Sent(
        outcome: .accepted(version: version, serverId: nil),
        gone: RemoteDeletions(root: nil, followers: try await followers))
    case .invalid(let status, let detail): return refused(detail, status: status)
    default: throw RestClient.failure(response) ?? .offline
    }
  }

  // MARK: Gone

  /// The parent of a new record is missing: a conflict for the user.
  private func parentGone(_ body: RestBody, _ call: RouteCall, _ routes: EntityRoutes) async throws -> Sent {
    guard let gone = try await RestDeletionCheck(client: client, records: records).parent(of: body, call.path) else {
      return refusedCreate("the parent of the record is not on the server (status 404)", 404, routes)
    }
    return Sent(outcome: .conflict(.deletedRemotely, fields: [gone.field], record: nil), gone: gone.records)
  }

  /// Returns the dependents of the operation's record as deleted.
  private var followers: [RemoteRecord] {
    get async throws {
      let family = try await RestDeletionCheck(client: client, records: records).family(
        of: operation.entityType, operation.entityUuid)
      return family.followers
    }
  }
}
