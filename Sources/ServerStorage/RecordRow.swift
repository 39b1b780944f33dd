import SyncModel

/// A record of an account with everything that an engine stores about it.
package struct RecordRow: Sendable, Equatable {
  /// The record. A field that is NULL may be absent from a row that was just read.
  package var record: ServerRecord
  /// Whether the record is deleted only because a record above it was deleted. It is restored with that record.
  package var isCascaded: Bool
  /// The UUID of the project that the record belongs to.
  package var project: String?
  /// The record digest that `WireFormat.md` defines.
  package var digest: String
  /// The server's time of the last change, in milliseconds since 1970-01-01 UTC.
  package var storedAt: Int64
  /// The values by which other records are kept apart from this one, and by which this one references others.
  package var keys: RecordKeys

  /// Creates a row from its parts.
  package init(
    record: ServerRecord, isCascaded: Bool = false, project: String? = nil, digest: String, storedAt: Int64,
    keys: RecordKeys
  ) {
    self.record = record
    self.isCascaded = isCascaded
    self.project = project
    self.digest = digest
    self.storedAt = storedAt
    self.keys = keys
  }

  /// The name of the record.
  package var name: RecordName { record.name }

  /// The part of the digests of an account that the record adds to; `nil` for a deleted record.
  package var counted: BucketName? {
    record.state.isDeleted
      ? nil
      : BucketName(
        entityType: name.entityType, project: project ?? "", bucket: RecordDigest.bucket(of: name.entityUuid))
  }

  /// The references by which the record can be found from the referenced records.
  package var references: [ReferenceValue] {
    keys.references.map { ReferenceValue(entityType: name.entityType, reference: $0.key, target: $0.value) }
  }

  /// The UNIQUE values that the record holds.
  package var uniqueValues: [UniqueValue] {
    keys.unique.filter { !keys.released.contains($0.key) }.map { key, value in
      UniqueValue(entityType: name.entityType, key: key, value: value)
    }
  }
}

/// A stored record with the project that it belongs to.
public struct LocatedRecord: Sendable {
  /// The record.
  public let record: ServerRecord
  /// The UUID of the project; `nil` for a record that belongs to no project.
  public let project: String?
}

/// The values of a record under the unique keys and the references of its entity.
package struct RecordKeys: Sendable, Equatable {
  /// The values of the record, by unique key.
  package var unique: [String: String]
  /// The unique keys whose value a deleted record has released to another record.
  package var released: Set<String>
  /// The referenced values, by reference: the UUID of a record, or the value of its unique key.
  package var references: [String: String]

  /// Creates keys.
  package init(
    unique: [String: String] = [:], released: Set<String> = [], references: [String: String] = [:]
  ) {
    (self.unique, self.released, self.references) = (unique, released, references)
  }
}

/// A value of a unique key. One record at most holds it.
package struct UniqueValue: Hashable, Sendable {
  /// The entity.
  package let entityType: String
  /// The unique key of the entity.
  package let key: String
  /// The value as text, equal for values that the key does not distinguish.
  package let value: String

  /// Creates a value.
  package init(entityType: String, key: String, value: String) {
    (self.entityType, self.key, self.value) = (entityType, key, value)
  }
}

/// A reference of records of an entity to one record.
package struct ReferenceValue: Hashable, Sendable {
  /// The entity of the referencing records.
  package let entityType: String
  /// The reference of the entity.
  package let reference: String
  /// The referenced value.
  package let target: String

  /// Creates a reference.
  package init(entityType: String, reference: String, target: String) {
    (self.entityType, self.reference, self.target) = (entityType, reference, target)
  }
}

/// A part of the records of an account whose digests are summed.
package struct BucketName: Hashable, Sendable {
  /// The entity.
  package let entityType: String
  /// The project; empty for records without one.
  package let project: String
  /// The last two hexadecimal digits of the UUIDs.
  package let bucket: String

  /// Creates a name.
  package init(entityType: String, project: String, bucket: String) {
    (self.entityType, self.project, self.bucket) = (entityType, project, bucket)
  }
}

/// A record whose dependents still have to follow a change of it.
package struct AccountJob: Sendable, Equatable {
  /// The change that dependents have to follow.
  package enum Kind: String, Sendable {
    /// Dependents are deleted and restored with the record.
    case cascade
    /// Dependents belong to the project of the record.
    case project
  }

  /// The position among the jobs. The newest is visited first, so that few are left at any time.
  package let number: Int64
  /// The change.
  package let kind: Kind
  /// The record.
  package let name: RecordName
  /// The number of the reference by which dependents are being visited.
  package var reference: Int
  /// The last dependent that was visited by it; `nil` before the first.
  package var after: String?
  /// The server's time of the change, in milliseconds since 1970-01-01 UTC.
  package let time: Int64

  /// Creates a job.
  package init(number: Int64, kind: Kind, name: RecordName, reference: Int = 0, after: String? = nil, time: Int64) {
    (self.number, self.kind, self.name) = (number, kind, name)
    (self.reference, self.after, self.time) = (reference, after, time)
  }
}
