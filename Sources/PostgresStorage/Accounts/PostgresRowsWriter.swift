import ServerStorage
import SyncModel

/// Changes the rows of an account. Changes are sent with the next query, or with the commit, so that they cost no round
/// trip of their own.
final class PostgresRowsWriter: PostgresRows, AccountRowsWriting {
  private var unsent: [Statement.Command] = []
  /// The jobs that were read with the position; `nil` after a change.
  private var knownJobs: [AccountJob]?

  init(_ connection: PostgresConnection, _ account: PostgresValue, _ header: AccountHeader, jobs: [AccountJob]) {
    knownJobs = jobs
    super.init(connection, account, header)
  }

  override func run(_ command: Statement.Command) throws -> PostgresResult {
    defer { unsent = [] }
    guard let result = try connection.run(unsent + [command]).last else {
      throw PostgresError(sqlState: nil, message: "no result")
    }
    return result
  }

  override func jobs() throws -> [AccountJob] { try knownJobs ?? super.jobs() }

  /// Commits all changes.
  func commit() throws { _ = try run(TransactionStatements.commit()) }

  private func add(_ command: Statement.Command) { unsent.append(command) }

  func apply(_ changes: AccountChanges) throws {
    if let header = changes.header { apply(header, epochStartedAt: changes.epochStartedAt) }
    if !changes.lastServerIds.isEmpty {
      let ids = changes.lastServerIds.sorted { $0.key < $1.key }
      add(Self.setCounters(account, .texts(ids.map(\.key)), .integers(ids.map(\.value))))
    }
    let records = changes.records.values.sorted {
      ($0.new ?? $0.old)?.record.sequence ?? 0 < ($1.new ?? $1.old)?.record.sequence ?? 0
    }
    // Values that move between records are released before they are taken.
    remove(records)
    let new = records.compactMap(\.new)
    if !new.isEmpty { add(RecordRow.upsert.with([account] + RecordRow.values(of: new, in: form))) }
    addDerived(of: records)
    if !changes.buckets.isEmpty {
      let buckets = changes.buckets.map { ($0.key, $0.value.summary) }
      add(
        Self.setBuckets(
          account, .texts(buckets.map(\.0.entityType)), .texts(buckets.map(\.0.project)),
          .texts(buckets.map(\.0.bucket)), .integers(buckets.map(\.1.count)),
          .texts(buckets.map { form.stored($0.1.digest, at: .bucket($0.0)) })))
    }
    applyRest(of: changes)
  }

  private typealias Change = (old: RecordRow?, new: RecordRow?)

  /// A statement for each row, in one round trip: a statement for many could read the whole account.
  private func remove(_ records: [Change]) {
    for (old, new) in records {
      guard let old else { continue }
      for value in Set(old.uniqueValues).subtracting(new?.uniqueValues ?? []) {
        add(
          Self.removeValue(account, .text(value.entityType), .text(value.key), .text(form.indexed(value.value))))
      }
      for reference in Set(old.references).subtracting(new?.references ?? []) {
        add(
          Self.removeReference(
            account, .text(reference.entityType), .text(reference.reference),
            .text(form.indexed(reference.target)), .text(old.name.entityUuid)))
      }
      if new == nil { add(Self.removeRecord(account, .text(old.name.entityType), .text(old.name.entityUuid))) }
    }
  }

  private func addDerived(of records: [Change]) {
    var (values, references): ([(UniqueValue, String)], [(ReferenceValue, String)]) = ([], [])
    for (old, new) in records {
      guard let new else { continue }
      let uuid = new.name.entityUuid
      values += Set(new.uniqueValues).subtracting(old?.uniqueValues ?? []).map { ($0, uuid) }
      references += Set(new.references).subtracting(old?.references ?? []).map { ($0, uuid) }
    }
    if !values.isEmpty {
      add(
        Self.addValues(
          account, .texts(values.map(\.0.entityType)), .texts(values.map(\.0.key)),
          .texts(values.map { form.indexed($0.0.value) }), .texts(values.map(\.1))))
    }
    if !references.isEmpty {
      add(
        Self.addReferences(
          account, .texts(references.map(\.0.entityType)), .texts(references.map(\.0.reference)),
          .texts(references.map { form.indexed($0.0.target) }), .texts(references.map(\.1))))
    }
  }

  private func apply(_ header: AccountHeader, epochStartedAt: Int64?) {
    set(header)
    add(
      Self.setHeader(
        account, .integer(header.lastSequence), .integer(header.horizon), .integer(header.forgottenVersion),
        header.recordCount.map { .integer($0) } ?? .null))
    guard let epochStartedAt, let epoch = header.epochs.last else { return }
    add(Self.addEpoch(account, .text(epoch), .integer(header.epochStart), .integer(epochStartedAt)))
  }

  /// Responses, devices, tombstones, jobs and memberships.
  private func applyRest(of changes: AccountChanges) {
    if !changes.responses.isEmpty {
      let responses = changes.responses.map { (IndexText.of($0.key), $0.value) }.sorted { $0.0 < $1.0 }
      let forms = responses.map { stored($0.1.response, of: $0.0) }
      add(
        Self.addResponses(
          account, .texts(responses.map(\.0)), .texts(forms.map(\.result)), .texts(forms.map(\.digest)),
          .integers(responses.map(\.1.storedAt))))
    }
    if !changes.marks.isEmpty {
      let marks = changes.marks.sorted { $0.key < $1.key }
      add(
        Self.setMarks(
          account, .texts(marks.map(\.key)), .integers(marks.map(\.value.mark.counter)),
          .texts(marks.map { form.stored($0.value.mark.digest, at: .device($0.key)) }),
          .integers(marks.map(\.value.seenAt))))
    }
    for (name, time) in changes.tombstones {
      let place: [PostgresValue] = [account, .text(name.entityType), .text(name.entityUuid)]
      add(time.map { Self.addTombstone.with(place + [.integer($0)]) } ?? Self.removeTombstone.with(place))
    }
    for (number, job) in changes.jobs.sorted(by: { $0.key < $1.key }) {
      knownJobs = nil
      guard let job else {
        add(Self.removeJob(account, .integer(number)))
        continue
      }
      add(
        Self.setJob(
          account, .integer(job.number), .text(job.kind.rawValue), .text(job.name.entityType),
          .text(job.name.entityUuid), .integer(Int64(job.reference)), .optional(job.after), .integer(job.time)))
    }
    for project in changes.forgottenProjects { add(Self.removeMemberships(account, .text(project))) }
    for membership in changes.memberships.values {
      let key = membership.key
      add(
        Self.setMembership(
          account, .text(key.source), .text(key.holder), .text(key.project), .flag(membership.isMember),
          .integer(membership.sequence)))
    }
  }

  func removeDerived() throws {
    add(Self.removeAllValues(account))
    add(Self.removeAllReferences(account))
    add(Self.removeAllBuckets(account))
  }

  /// Returns a response with the stored forms of its result and digest.
  /// - Parameter key: the idempotency key in its form in the index.
  private func stored(_ response: StoredResponse, of key: String) -> StoredResponse {
    StoredResponse(
      result: form.stored(response.result, at: .response("result", key)),
      digest: response.digest.map { form.stored($0, at: .response("digest", key)) })
  }

  func rewriteResponses(_ rewrite: (String) throws -> String?) throws {
    var last = ""
    while true {
      let found = try run(Self.responsePage(account, .text(last), .integer(Self.responsesAtOnce)))
        .map { (key: $0.text(0), response: try response($0)) }
      guard let end = found.last else { return }
      last = end.key
      for (key, response) in found {
        guard let result = try rewrite(response.result) else { continue }
        let new = stored(StoredResponse(result: result, digest: response.digest), of: key)
        add(Self.setResponse(account, .text(key), .text(new.result), .optional(new.digest)))
      }
    }
  }

  /// Stores the values that are not derived from records, responses and digests of devices, in the current form.
  func rewriteRest() throws {
    try rewriteResponses { $0 }
    let marks = try run(Self.allMarks(account)).map { row in
      let id = row.text(0)
      return (id, form.stored(try form.text(row.text(1), at: .device(id)), at: .device(id)))
    }
    add(Self.setDigests(account, .texts(marks.map(\.0)), .texts(marks.map(\.1))))
  }

  private static let responsesAtOnce: Int64 = 500

  func removeResponses(before time: Int64, atMost limit: Int) throws -> Bool {
    let responses = try run(Self.removeOldResponses(account, .integer(time), .integer(Int64(limit)))).changedCount
    // A device that was away for longer is accepted with any counter.
    let devices = try run(Self.removeOldDevices(account, .integer(time), .integer(Int64(limit)))).changedCount
    return responses == limit || devices == limit
  }

  func removeTombstones(before time: Int64, atMost limit: Int) throws -> Bool {
    try run(Self.removeOldTombstones(account, .integer(time), .integer(Int64(limit)))).changedCount == limit
  }
}

// MARK: Statements

extension PostgresRowsWriter {
  private static let setHeader = Statement(
    """
    UPDATE fieldvault.account SET last_sequence = $2::bigint, horizon = $3::bigint, forgotten_version = $4::bigint,
      record_count = $5::bigint, counted_sequence = $2::bigint
    WHERE account_id = $1::uuid
    """)
  private static let recordCount = Statement(
    "SELECT coalesce(sum(count), 0)::bigint FROM fieldvault.bucket WHERE account_id = $1::uuid")

  func countRecords() throws -> Int64 { try run(Self.recordCount(account)).first { $0.integer(0) } ?? 0 }

  private static let addEpoch = Statement(
    """
    UPDATE fieldvault.account SET epochs = epochs || $2::text, epoch_start = $3::bigint, epoch_started_at = $4::bigint
    WHERE account_id = $1::uuid
    """)
  private static let setCounters = Statement(
    """
    INSERT INTO fieldvault.counter (account_id, entity_type, last_id)
    SELECT $1::uuid, new.entity_type, new.last_id FROM unnest($2::text[], $3::bigint[]) AS new (entity_type, last_id)
    ON CONFLICT (account_id, entity_type) DO UPDATE SET last_id = excluded.last_id
    """)
  private static let removeValue = Statement(
    """
    DELETE FROM fieldvault.unique_key
    WHERE account_id = $1::uuid AND entity_type = $2::text AND key_name = $3::text AND value = $4::text
    """)
  private static let addValues = Statement(
    """
    INSERT INTO fieldvault.unique_key (account_id, entity_type, key_name, value, entity_uuid)
    SELECT $1::uuid, new.entity_type, new.key_name, new.value, new.entity_uuid
    FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS new (entity_type, key_name, value, entity_uuid)
    """)
  private static let removeReference = Statement(
    """
    DELETE FROM fieldvault.reference
    WHERE account_id = $1::uuid AND entity_type = $2::text AND reference = $3::text AND target = $4::text
      AND entity_uuid = $5::text
    """)
  private static let addReferences = Statement(
    """
    INSERT INTO fieldvault.reference (account_id, entity_type, reference, target, entity_uuid)
    SELECT $1::uuid, new.entity_type, new.reference, new.target, new.entity_uuid
    FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS new (entity_type, reference, target, entity_uuid)
    """)
  private static let removeRecord = Statement(
    """
    DELETE FROM fieldvault.record WHERE account_id = $1::uuid AND entity_type = $2::text AND entity_uuid = $3::text
    """)
  private static let setBuckets = Statement(
    """
    INSERT INTO fieldvault.bucket (account_id, entity_type, project, bucket, count, digest)
    SELECT $1::uuid, new.entity_type, new.project, new.bucket, new.count, new.digest
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
      AS new (entity_type, project, bucket, count, digest)
    ON CONFLICT (account_id, entity_type, project, bucket)
      DO UPDATE SET count = excluded.count, digest = excluded.digest
    """)
  private static let addResponses = Statement(
    """
    INSERT INTO fieldvault.response (account_id, idempotency_key, result, digest, stored_at)
    SELECT $1::uuid, new.idempotency_key, new.result, new.digest, new.stored_at
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS new (idempotency_key, result, digest, stored_at)
    """)
  private static let responsePage = Statement(
    """
    SELECT idempotency_key, result, digest FROM fieldvault.response
    WHERE account_id = $1::uuid AND idempotency_key > $2::text ORDER BY idempotency_key LIMIT $3::bigint
    """)
  private static let setResponse = Statement(
    """
    UPDATE fieldvault.response SET result = $3::text, digest = $4::text
    WHERE account_id = $1::uuid AND idempotency_key = $2::text
    """)
  private static let allMarks = Statement(
    "SELECT device_id, digest FROM fieldvault.device WHERE account_id = $1::uuid")
  private static let setDigests = Statement(
    """
    UPDATE fieldvault.device AS device SET digest = new.digest
    FROM unnest($2::text[], $3::text[]) AS new (device_id, digest)
    WHERE device.account_id = $1::uuid AND device.device_id = new.device_id
    """)
  private static let setMarks = Statement(
    """
    INSERT INTO fieldvault.device (account_id, device_id, counter, digest, seen_at)
    SELECT $1::uuid, new.device_id, new.counter, new.digest, new.seen_at
    FROM unnest($2::text[], $3::bigint[], $4::text[], $5::bigint[]) AS new (device_id, counter, digest, seen_at)
    ON CONFLICT (account_id, device_id)
      DO UPDATE SET counter = excluded.counter, digest = excluded.digest, seen_at = excluded.seen_at
    """)
  private static let addTombstone = Statement(
    """
    INSERT INTO fieldvault.tombstone (account_id, entity_type, entity_uuid, stored_at)
    VALUES ($1::uuid, $2::text, $3::text, $4::bigint)
    ON CONFLICT (account_id, entity_type, entity_uuid) DO UPDATE SET stored_at = excluded.stored_at
    """)
  private static let removeTombstone = Statement(
    """
    DELETE FROM fieldvault.tombstone
    WHERE account_id = $1::uuid AND entity_type = $2::text AND entity_uuid = $3::text
    """)
  private static let setJob = Statement(
    """
    INSERT INTO fieldvault.job (account_id, number, kind, entity_type, entity_uuid, reference, after, time)
    VALUES ($1::uuid, $2::bigint, $3::text, $4::text, $5::text, $6::bigint, $7::text, $8::bigint)
    ON CONFLICT (account_id, number) DO UPDATE SET reference = excluded.reference, after = excluded.after
    """)
  private static let removeJob = Statement(
    "DELETE FROM fieldvault.job WHERE account_id = $1::uuid AND number = $2::bigint")
  private static let setMembership = Statement(
    """
    INSERT INTO fieldvault.membership (account_id, source, holder, project, is_member, sequence)
    VALUES ($1::uuid, $2::text, $3::text, $4::text, $5::boolean, $6::bigint)
    ON CONFLICT (account_id, project, source, holder)
    DO UPDATE SET is_member = excluded.is_member, sequence = excluded.sequence
    """)
  private static let removeMemberships = Statement(
    "DELETE FROM fieldvault.membership WHERE account_id = $1::uuid AND project = $2::text")
  private static let removeAllValues = Statement("DELETE FROM fieldvault.unique_key WHERE account_id = $1::uuid")
  private static let removeAllReferences = Statement("DELETE FROM fieldvault.reference WHERE account_id = $1::uuid")
  private static let removeAllBuckets = Statement("DELETE FROM fieldvault.bucket WHERE account_id = $1::uuid")
  private static let removeOldResponses = Statement(
    """
    DELETE FROM fieldvault.response WHERE account_id = $1::uuid AND idempotency_key IN (
      SELECT idempotency_key FROM fieldvault.response
      WHERE account_id = $1::uuid AND stored_at < $2::bigint ORDER BY stored_at LIMIT $3::bigint)
    """)
  private static let removeOldDevices = Statement(
    """
    DELETE FROM fieldvault.device WHERE account_id = $1::uuid AND device_id IN (
      SELECT device_id FROM fieldvault.device
      WHERE account_id = $1::uuid AND seen_at < $2::bigint ORDER BY seen_at LIMIT $3::bigint)
    """)
  private static let removeOldTombstones = Statement(
    """
    DELETE FROM fieldvault.tombstone WHERE account_id = $1::uuid AND (entity_type, entity_uuid) IN (
      SELECT entity_type, entity_uuid FROM fieldvault.tombstone
      WHERE account_id = $1::uuid AND stored_at < $2::bigint ORDER BY stored_at LIMIT $3::bigint)
    """)
}
