import CipherSQL
import ServerStorage
import SyncModel

/// Changes the rows of an account in its SQLCipher database.
final class EmbeddedRowsWriter: EmbeddedRows, AccountRowsWriting {
  /// The connection, as the one that writes.
  let writer: WriteConnection
  private let mostNewReferences: Int64
  /// The number of references that are not moved yet; `nil` if it is not known.
  private var newReferenceCount: Int64?

  /// - Parameter mostNewReferences: the number of new references that are moved at once. A reader searches through all of
  ///   them, in about 70 pages of the file.
  init(_ writer: WriteConnection, mostNewReferences: Int64 = 3_000) {
    (self.writer, self.mostNewReferences) = (writer, mostNewReferences)
    super.init(writer)
  }

  func apply(_ changes: AccountChanges) throws {
    if let header = changes.header { try set(header, startedAt: changes.epochStartedAt) }
    for (type, last) in changes.lastServerIds.sorted(by: { $0.key < $1.key }) {
      try run(
        """
        INSERT INTO ServerCounter (entityType, lastId) VALUES (?, ?)
        ON CONFLICT (entityType) DO UPDATE SET lastId = excluded.lastId
        """, .text(type), .integer(last))
    }
    // In the order of the sequence, so that the rows of a table are written in their order.
    let records = changes.records.values.sorted {
      ($0.new ?? $0.old)?.record.sequence ?? 0 < ($1.new ?? $1.old)?.record.sequence ?? 0
    }
    // Values that move between records are released before they are taken.
    for (old, new) in records {
      guard let old else { continue }
      for reference in old.allReferences(without: new) { try remove(reference, of: old.name) }
      for value in Set(old.uniqueValues).subtracting(new?.uniqueValues ?? []) {
        try run(
          "DELETE FROM ServerUniqueKey WHERE entityType = ? AND keyName = ? AND value = ?", .text(value.entityType),
          .text(value.key), .text(value.value))
      }
      if new == nil { try run("DELETE FROM ServerRecord WHERE sequence = ?", .integer(old.record.sequence)) }
    }
    for (old, new) in records {
      guard let new else { continue }
      try write(new, over: old)
      for value in Set(new.uniqueValues).subtracting(old?.uniqueValues ?? []) {
        try run(
          "INSERT INTO ServerUniqueKey (entityType, keyName, value, entityUuid) VALUES (?, ?, ?, ?)",
          .text(value.entityType), .text(value.key), .text(value.value), .text(new.name.entityUuid))
      }
      for reference in new.allReferences(without: old) { try add(reference, of: new.name) }
    }
    if let newReferenceCount, newReferenceCount >= mostNewReferences { try settleReferences() }
    for (name, sum) in changes.buckets {
      let summary = sum.summary
      try run(
        """
        INSERT INTO ServerBucket (entityType, project, bucket, count, digest) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (entityType, project, bucket) DO UPDATE SET count = excluded.count, digest = excluded.digest
        """, .text(name.entityType), .text(name.project), .text(name.bucket), .integer(summary.count),
        .text(summary.digest))
    }
    try applyRest(of: changes)
  }

  /// Responses, devices, tombstones, jobs and memberships.
  private func applyRest(of changes: AccountChanges) throws {
    for (key, (response, storedAt)) in changes.responses.sorted(by: { $0.key < $1.key }) {
      try run(
        "INSERT INTO ServerAnswer (idempotencyKey, answer, digest, storedAt) VALUES (?, ?, ?, ?)", .text(key),
        .text(response.result), response.digest.sqlArgument, .integer(storedAt))
    }
    for (device, (mark, seenAt)) in changes.marks {
      try run(
        """
        INSERT INTO ServerDevice (deviceId, counter, digest, seenAt) VALUES (?, ?, ?, ?)
        ON CONFLICT (deviceId) DO UPDATE SET counter = excluded.counter, digest = excluded.digest, seenAt = excluded.seenAt
        """, .text(device), .integer(mark.counter), .text(mark.digest), .integer(seenAt))
    }
    for (name, time) in changes.tombstones {
      guard let time else {
        try run(
          "DELETE FROM ServerTombstone WHERE entityType = ? AND entityUuid = ?", .text(name.entityType),
          .text(name.entityUuid))
        continue
      }
      try run(
        """
        INSERT INTO ServerTombstone (entityType, entityUuid, storedAt) VALUES (?, ?, ?)
        ON CONFLICT (entityType, entityUuid) DO UPDATE SET storedAt = excluded.storedAt
        """, .text(name.entityType), .text(name.entityUuid), .integer(time))
    }
    for (number, job) in changes.jobs {
      guard let job else {
        try run("DELETE FROM ServerJob WHERE number = ?", .integer(number))
        continue
      }
      try run(
        """
        INSERT INTO ServerJob (number, kind, entityType, entityUuid, reference, after, time) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (number) DO UPDATE SET reference = excluded.reference, after = excluded.after
        """, .integer(job.number), .text(job.kind.rawValue), .text(job.name.entityType), .text(job.name.entityUuid),
        .integer(Int64(job.reference)), job.after.sqlArgument, .integer(job.time))
    }
    for project in changes.forgottenProjects {
      try run("DELETE FROM ServerMembership WHERE project = ?", .text(project))
    }
    for membership in changes.memberships.values {
      let key = membership.key
      try run(
        """
        INSERT INTO ServerMembership (source, holder, project, isMember, sequence) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (project, source, holder) DO UPDATE SET isMember = excluded.isMember, sequence = excluded.sequence
        """, .text(key.source), .text(key.holder), .text(key.project), .integer(membership.isMember ? 1 : 0),
        .integer(membership.sequence))
    }
  }

  // MARK: References

  private func add(_ reference: ReferenceValue, of name: RecordName) throws {
    try run(
      "INSERT INTO ServerNewReference (entityType, reference, target, entityUuid) VALUES (?, ?, ?, ?)",
      .text(reference.entityType), .text(reference.reference), .text(reference.target), .text(name.entityUuid))
    // The numbers of an empty table begin at 1.
    newReferenceCount = writer.lastInsertedRowID
  }

  private func remove(_ reference: ReferenceValue, of name: RecordName) throws {
    try settleReferences()
    try run(
      "DELETE FROM ServerReference WHERE entityType = ? AND reference = ? AND target = ? AND entityUuid = ?",
      .text(reference.entityType), .text(reference.reference), .text(reference.target), .text(name.entityUuid))
  }

  override func settleReferences() throws {
    if newReferenceCount == nil {
      newReferenceCount = try writer.fetchOne("SELECT max(number) FROM ServerNewReference", as: Int64?.self) ?? 0
    }
    if newReferenceCount == 0 { return }
    // In the order of the table, so that each page is changed once.
    try run(
      """
      INSERT INTO ServerReference (entityType, reference, target, entityUuid)
      SELECT entityType, reference, target, entityUuid FROM ServerNewReference
      ORDER BY entityType, reference, target, entityUuid
      """)
    try run("DELETE FROM ServerNewReference")
    newReferenceCount = 0
  }

  func countRecords() throws -> Int64 {
    try connection.fetchOne("SELECT coalesce(sum(count), 0) FROM ServerBucket", as: Int64.self) ?? 0
  }

  private func set(_ header: AccountHeader, startedAt: Int64?) throws {
    try run(
      "UPDATE ServerState SET lastSequence = ?, horizon = ?, forgottenVersion = ?, recordCount = ?",
      .integer(header.lastSequence), .integer(header.horizon), .integer(header.forgottenVersion),
      header.recordCount.sqlArgument)
    guard let startedAt, let epoch = header.epochs.last else { return }
    try run(
      "INSERT INTO ServerEpoch (number, epoch, startSequence, startedAt) VALUES (?, ?, ?, ?)",
      .integer(Int64(header.epochs.count - 1)), .text(epoch), .integer(header.epochStart), .integer(startedAt))
  }

  /// Writes a row in place of another one.
  private func write(_ row: RecordRow, over old: RecordRow?) throws {
    let (record, state) = (row.record, row.record.state)
    let values: [SQLArgument] = [
      .integer(record.sequence), .text(row.name.entityType), .text(row.name.entityUuid), .integer(record.serverId),
      .integer(record.version), .integer(record.firstVersion), .integer(state.isDeleted ? 1 : 0),
      .integer(row.isCascaded ? 1 : 0), (record.deletedWith?.entityType).sqlArgument,
      (record.deletedWith?.entityUuid).sqlArgument, row.project.sqlArgument, .text(row.digest),
      .integer(record.createdAt), .integer(state.updatedAt), .integer(row.storedAt),
      .text(RowText.fields(state.fields)),
      .text(RowText.text(state.userEditedFields)), .text(RowText.text(state.editTimes)),
      .text(RowText.text(record.fieldVersions)), .text(RowText.text(record.startVersions)),
      .text(RowText.text(record.serviceFields)), .text(RowText.text(row.keys)),
    ]
    guard let old else {
      return try run(
        """
        INSERT OR REPLACE INTO ServerRecord (sequence, entityType, entityUuid, serverId, version, firstVersion, isDeleted,
          isCascaded, rootType, rootUuid, project, digest, createdAt, updatedAt, storedAt, fields, userEditedFields,
          editTimes, fieldVersions, startVersions, serviceFields, keys)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """, values)
    }
    try run(
      """
      UPDATE ServerRecord SET sequence = ?, entityType = ?, entityUuid = ?, serverId = ?, version = ?, firstVersion = ?,
        isDeleted = ?, isCascaded = ?, rootType = ?, rootUuid = ?, project = ?, digest = ?, createdAt = ?, updatedAt = ?,
        storedAt = ?, fields = ?, userEditedFields = ?, editTimes = ?, fieldVersions = ?, startVersions = ?,
        serviceFields = ?, keys = ?
      WHERE sequence = ?
      """, values + [.integer(old.record.sequence)])
  }

  private func run(_ sql: StaticString, _ arguments: SQLArgument...) throws { try run(sql, arguments) }

  private func run(_ sql: StaticString, _ arguments: [SQLArgument]) throws {
    try writer.withStatement(sql) { statement in
      for (index, argument) in arguments.enumerated() { try argument.bind(to: statement, at: Int32(index + 1)) }
      try statement.run()
    }
  }

  func removeDerived() throws {
    try run("DELETE FROM ServerUniqueKey")
    try run("DELETE FROM ServerReference")
    try run("DELETE FROM ServerNewReference")
    newReferenceCount = 0
    try run("DELETE FROM ServerBucket")
  }

  func rewriteResponses(_ rewrite: (String) throws -> String?) throws {
    var last = ""
    while true {
      let page = try writer.fetchRows(
        "SELECT idempotencyKey, answer FROM ServerAnswer WHERE idempotencyKey > \(last) ORDER BY idempotencyKey LIMIT 500",
        as: String.self, String.self)
      guard let end = page.last else { return }
      for (key, text) in page {
        guard let new = try rewrite(text) else { continue }
        try run("UPDATE ServerAnswer SET answer = ? WHERE idempotencyKey = ?", .text(new), .text(key))
      }
      last = end.0
    }
  }

  func removeResponses(before time: Int64, atMost limit: Int) throws -> Bool {
    try writer.execute(
      """
      DELETE FROM ServerAnswer WHERE idempotencyKey IN (
        SELECT idempotencyKey FROM ServerAnswer WHERE storedAt < \(time) ORDER BY storedAt LIMIT \(limit))
      """)
    let isFull = writer.changedRowCount == limit
    // A device that was away for longer is accepted with any counter.
    try writer.execute(
      """
      DELETE FROM ServerDevice WHERE deviceId IN (
        SELECT deviceId FROM ServerDevice WHERE seenAt < \(time) ORDER BY seenAt LIMIT \(limit))
      """)
    return isFull || writer.changedRowCount == limit
  }

  func removeTombstones(before time: Int64, atMost limit: Int) throws -> Bool {
    try writer.execute(
      """
      DELETE FROM ServerTombstone WHERE (entityType, entityUuid) IN (
        SELECT entityType, entityUuid FROM ServerTombstone WHERE storedAt < \(time) ORDER BY storedAt LIMIT \(limit))
      """)
    return writer.changedRowCount == limit
  }
}

extension RecordRow {
  /// Returns the references, with the bucket of the record, that another version of the row lacks.
  fileprivate func allReferences(without other: RecordRow?) -> [ReferenceValue] {
    guard let other else {
      return references + [
        ReferenceValue(
          entityType: name.entityType, reference: EmbeddedRows.bucketReference,
          target: RecordDigest.bucket(of: name.entityUuid))
      ]
    }
    return keys.references == other.keys.references ? [] : Array(Set(references).subtracting(other.references))
  }
}
