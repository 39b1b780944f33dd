/// The columns of an entity that do not always count in the digest of a record.
public struct DigestColumns: Equatable, Sendable {
  /// The computed columns, which digests always omit.
  public var computed: Set<String>
  /// The constant default of each column that was added to its table later, by column. A value that equals the default
  /// does not count, so a side without the column has the same digest.
  public var addedDefaults: [String: SyncValue]

  /// Creates columns; by default all columns count.
  public init(computed: Set<String> = [], addedDefaults: [String: SyncValue] = [:]) {
    (self.computed, self.addedDefaults) = (computed, addedDefaults)
  }

  /// Returns the fields that count.
  public func counted(_ fields: SyncObject) -> SyncObject {
    if computed.isEmpty, addedDefaults.isEmpty { return fields }
    return fields.filter { !computed.contains($0.name) && addedDefaults[$0.name] != $0.value }
  }

  /// Returns the columns of both sides.
  public func merging(_ other: DigestColumns) -> DigestColumns {
    DigestColumns(
      computed: computed.union(other.computed),
      addedDefaults: addedDefaults.merging(other.addedDefaults) { own, _ in own })
  }
}

extension DigestColumns: WireMessage {
  /// Reads the columns.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    let added = try reader.object("added")
    self.init(
      computed: Set(try reader.names("computed")),
      addedDefaults: Dictionary(added.members.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }))
  }

  /// The columns in the wire format.
  public var wire: SyncValue {
    [
      "added": .object(SyncObject(addedDefaults.map { ($0.key, $0.value) })),
      "computed": .array(computed.sorted().map { .text($0) }),
    ]
  }
}

extension WireReader {
  /// Reads the columns by entity. An absent member has no columns.
  func columns(_ name: String) throws(SyncModelError) -> [String: DigestColumns] {
    guard let object = try optional(name, object) else { return [:] }
    var result: [String: DigestColumns] = [:]
    for member in object.members {
      do throws(SyncModelError) {
        result[member.name] = try DigestColumns(wire: member.value)
      } catch {
        throw error.inside("\(name).\(member.name)")
      }
    }
    return result
  }
}
