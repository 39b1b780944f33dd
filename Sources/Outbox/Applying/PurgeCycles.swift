import CipherSQL
import RecordStore
import SchemaModel

/// Deleted records that only reference themselves or each other. Each row is in the way of the others, so they are removed
/// together.
extension SyncTransaction {
  /// A row of an entity.
  private struct Place: Hashable {
    let type: String
    let key: Int64
  }

  /// Removes groups of deleted records. Rows without a referring row were removed before.
  /// - Returns: the number of removed rows, which may exceed the limit by those of one group.
  func removeCycles(limit: Int) throws -> Int {
    var removed = 0
    var seen: Set<Place> = []
    for entity in catalog.cyclic where removed < limit {
      let keys = try connection.fetch(
        """
        SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name) AS record
        WHERE \(raw: isRemovable(entity)) LIMIT \(limit - removed)
        """, as: Int64.self)
      for key in keys where removed < limit && !seen.contains(Place(type: entity.type, key: key)) {
        removed += try removeCycle(of: key, entity, &seen)
      }
    }
    return removed
  }

  /// Removes a deleted record with the deleted records that reference it, directly or transitively.
  /// - Returns: the number of removed rows; 0 if one of them has to stay.
  func removeCycle(of key: Int64, _ entity: Entity) throws -> Int {
    guard catalog.cyclic.contains(where: { $0.type == entity.type }) else { return 0 }
    var seen: Set<Place> = []
    return try removeCycle(of: key, entity, &seen)
  }

  /// Removes a record with the records that reference it, directly or transitively.
  /// - Parameters:
  ///   - isRemovable: whether a record may be removed.
  ///   - remove: removes the row of a record.
  /// - Returns: the number of removed rows; 0 if one of them has to stay.
  func removeCycle(
    of key: Int64, _ entity: Entity, where isRemovable: (Int64, Entity) throws -> Bool,
    removing remove: (Int64, Entity) throws -> Void
  ) throws -> Int {
    guard catalog.cyclic.contains(where: { $0.type == entity.type }) else { return 0 }
    var seen: Set<Place> = []
    return try removeCycle(of: key, entity, &seen, where: isRemovable, removing: remove)
  }

  /// Removes a deleted record that only deleted records reference. They lose their references to it, because they can return
  /// only without it.
  /// - Returns: `false` if a record stays that references it, or if a reference must not be empty.
  func removeFromDeleted(_ key: Int64, _ entity: Entity) throws -> Bool {
    guard let references = try emptiable(catalog.entities.dependencies(on: entity), on: key, of: entity) else {
      return false
    }
    do {
      try connection.checkedSavepoint {
        try empty(references)
        try remove(key, entity)
      }
    } catch let error as SQLError where error.code == .constraint {
      return false
    }
    return true
  }

  /// A reference of a deleted record that can be emptied.
  struct EmptiableReference {
    fileprivate let child: Entity
    fileprivate let column: String
    fileprivate let key: Int64
  }

  /// Returns the references of deleted records to a row; `nil` if another record references it, or if a reference must not
  /// be empty.
  func emptiable(_ dependencies: [Dependency], on key: Int64, of entity: Entity) throws -> [EmptiableReference]? {
    var references: [EmptiableReference] = []
    for dependency in dependencies {
      let child = dependency.child
      let column = dependency.columns.first { child.table.column($0)?.isNotNull == false }
      for other in try keys(of: dependency, referring: key) where child.type != entity.type || other != key {
        guard let column, catalog.tables[child.type] != nil, try isRemovable(other, child) else { return nil }
        references.append(EmptiableReference(child: child, column: column, key: other))
      }
    }
    return references
  }

  func empty(_ references: [EmptiableReference]) throws {
    for reference in references {
      let child = reference.child
      try connection.withoutChecks {
        _ = try connection.execute(
          """
          UPDATE \(identifier: child.table.name) SET \(identifier: reference.column) = NULL
          WHERE \(identifier: child.key) = \(reference.key)
          """)
      }
    }
  }

  private func removeCycle(of key: Int64, _ entity: Entity, _ seen: inout Set<Place>) throws -> Int {
    try removeCycle(of: key, entity, &seen) {
      try isRemovable($0, $1)
    } removing: {
      try remove($0, $1)
    }
  }

  private func removeCycle(
    of key: Int64, _ entity: Entity, _ seen: inout Set<Place>, where isRemovable: (Int64, Entity) throws -> Bool,
    removing remove: (Int64, Entity) throws -> Void
  ) throws -> Int {
    guard let group = try group(of: Place(type: entity.type, key: key), &seen, where: isRemovable) else { return 0 }
    do {
      try connection.checkedSavepoint {
        for place in group { try clearReferences(of: place, to: group) }
        try self.remove(group, removing: remove)
      }
    } catch let error as SQLError where error.code == .constraint {
      return 0
    }
    return group.count
  }

  /// Returns a row with all rows that reference it; `nil` if one of these has to stay.
  private func group(
    of first: Place, _ seen: inout Set<Place>, where isRemovable: (Int64, Entity) throws -> Bool
  ) throws -> [Place]? {
    var group: [Place] = [first]
    var found: Set<Place> = [first]
    var index = 0
    while index < group.count {
      let place = group[index]
      index += 1
      guard group.count <= Self.largestGroup, let entity = catalog.tables[place.type]?.entity,
        try isRemovable(place.key, entity)
      else { return nil }
      seen.insert(place)
      for dependency in catalog.entities.dependencies(on: entity) {
        for key in try keys(of: dependency, referring: place.key) {
          let other = Place(type: dependency.child.type, key: key)
          if found.insert(other).inserted { group.append(other) }
        }
      }
    }
    return group
  }

  /// The most rows of a group, so that the transaction stays short.
  private static let largestGroup = 200

  func isRemovable(_ key: Int64, _ entity: Entity) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT 1 FROM \(identifier: entity.table.name) AS record
      WHERE \(identifier: entity.key) = \(key) AND \(raw: isRemovable(entity))
      """, as: Int.self) != nil
  }

  private func keys(of dependency: Dependency, referring key: Int64) throws -> [Int64] {
    try connection.fetch(
      """
      SELECT other.\(identifier: dependency.child.key) FROM \(identifier: dependency.parent.table.name) AS record
      CROSS JOIN \(identifier: dependency.child.table.name) AS other
        ON \(raw: dependency.isReferring(child: "other", parent: "record"))
      WHERE record.\(identifier: dependency.parent.key) = \(key) LIMIT \(Self.largestGroup + 1)
      """, as: Int64.self)
  }

  /// Empties the nullable references of a row to entities of the group, because SQLite checks ON DELETE RESTRICT at once. The
  /// row is removed afterwards.
  private func clearReferences(of place: Place, to group: [Place]) throws {
    guard let entity = catalog.tables[place.type]?.entity else { return }
    let types = Set(group.map(\.type))
    let columns = entity.table.foreignKeys.filter { key in
      catalog.entities.entity(ofTable: key.table).map { types.contains($0.type) } == true
    }.flatMap(\.columns).map(\.from).filter { entity.table.column($0)?.isNotNull == false }
    guard !columns.isEmpty else { return }
    let assignments = Set(columns).sorted().map { "\(SQL.quoted($0)) = NULL" }.joined(separator: ", ")
    try connection.withoutChecks {
      _ = try connection.execute(
        """
        UPDATE \(identifier: entity.table.name) SET \(raw: assignments) WHERE \(identifier: entity.key) = \(place.key)
        """)
    }
  }

  /// Removes the rows of a group, each after the rows that still reference it.
  private func remove(_ group: [Place], removing remove: (Int64, Entity) throws -> Void) throws {
    var rest = group
    while !rest.isEmpty {
      var later: [Place] = []
      for place in rest {
        guard let entity = catalog.tables[place.type]?.entity else { continue }
        let isReferenced = try catalog.entities.dependencies(on: entity).contains {
          try !keys(of: $0, referring: place.key).isEmpty
        }
        if isReferenced { later.append(place) } else { try remove(place.key, entity) }
      }
      guard later.count < rest.count else {
        throw SQLError(.constraint, "the deleted records need each other")
      }
      rest = later
    }
  }
}
