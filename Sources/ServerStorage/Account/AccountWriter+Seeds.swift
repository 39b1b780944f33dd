import SyncModel

/// Rows that the schemas create, such as reference data. Every device has them.
extension AccountWriter {
  /// Adopts the rows that the account lacks.
  package func adoptSeeds(at time: Int64) throws {
    try load(schema.seeds.map(\.name))
    try adopt(try schema.seeds.filter { try row($0.name) == nil }, at: time)
  }

  /// Adopts rows as records that have not changed since before the first version.
  func adopt(_ seeds: [AccountSchema.Seed], at time: Int64) throws {
    for seed in seeds {
      var state = seed.state
      state.syncVersion = 1
      let record = ServerRecord(
        name: seed.name, serverId: try nextServerId(seed.name.entityType), sequence: nextSequence(),
        createdAt: seed.createdAt, state: state, fieldVersions: [:], firstVersion: 0,
        startVersions: startVersions(after: nil))
      let row = RecordRow(record: record, digest: map.digest(of: record), storedAt: time, keys: RecordKeys())
      try put(row, of: seed.name, over: nil)
    }
    // A row may reference a later one, whose key or project it needs.
    for row in try withKeys(seeds.map(\.name)) { try put(row, of: row.name, over: self.row(row.name)) }
    var hasChanged = true
    while hasChanged {
      hasChanged = false
      for seed in seeds {
        guard let stored = try row(seed.name), let project = try project(of: stored.record), stored.project == nil
        else {
          continue
        }
        var row = stored
        row.project = project
        try put(row, of: seed.name, over: stored)
        hasChanged = true
      }
    }
  }
}
