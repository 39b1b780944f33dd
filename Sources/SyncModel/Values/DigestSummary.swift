/// The number of records and their common digest. Two sides with equal summaries have equal records.
public struct DigestSummary: Equatable, Sendable {
  /// The number of records, without deleted ones.
  public var count: Int64
  /// The digest, 64 hexadecimal digits; see `WireFormat.md`.
  public var digest: String

  /// Creates a summary of `count` records.
  public init(count: Int64, digest: String) {
    self.count = count
    self.digest = digest
  }
}

extension DigestSummary: WireMessage {
  /// Reads a summary.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(count: try reader.natural("count"), digest: try reader.text("digest"))
  }

  /// The summary in the wire format.
  public var wire: SyncValue { ["count": .integer(count), "digest": .text(digest)] }
}

extension WireReader {
  /// Reads summaries by name.
  func summaries(_ name: String) throws(SyncModelError) -> [String: DigestSummary] {
    let object = try object(name)
    var result: [String: DigestSummary] = [:]
    for member in object.members {
      do throws(SyncModelError) {
        result[member.name] = try DigestSummary(wire: member.value)
      } catch {
        throw error.inside("\(name).\(member.name)")
      }
    }
    return result
  }
}

extension SyncValue {
  static func summaries(_ summaries: [String: DigestSummary]) -> SyncValue {
    .object(SyncObject(summaries.map { ($0.key, $0.value.wire) }))
  }
}
