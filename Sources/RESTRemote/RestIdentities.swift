import SyncModel

/// The UUIDs of the records of an entity by their ids at the API.
struct RestIdentities: Sendable {
  /// The names from which the UUIDs of new records are derived, together with their ids.
  private let names: [String]
  private let known: [ServerId: String]
  private let taken: Set<String>

  /// - Parameters:
  ///   - remote: the identity of the API.
  ///   - known: the UUIDs of the records of this device that have an id.
  ///   - uncreated: the UUIDs of the records that the API has to create.
  init(remote: String, type: String, known: [ServerId: String], uncreated: [String]) {
    (names, self.known) = ([remote, type], known)
    taken = Set(known.values).union(uncreated)
  }

  /// Returns the UUID of a record of the API, which is derived from its id if the record is new on this device.
  ///
  /// A record that was created again under another id keeps the UUID of its former id. The API may still have the former
  /// resource, because another program has moved it. This resource is another record.
  func uuid(_ id: ServerId) -> String {
    if let uuid = known[id] { return uuid }
    var names = names + [id.description]
    while true {
      let uuid = NameUUID.text(names)
      if !taken.contains(uuid) { return uuid }
      names.append("again")
    }
  }
}
