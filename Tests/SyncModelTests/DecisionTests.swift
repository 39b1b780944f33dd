import Testing

@testable import SyncModel

/// The server's decisions about epochs, idempotency keys and copies of a vault.
@Suite struct DecisionTests {
  private let history = EpochHistory(epochs: ["a", "b", "c"])

  @Test("The shared version is the one at the beginning of the first later epoch in which the record changed")
  func sharedVersions() {
    let table: [(epoch: String?, startVersions: [Int: Int64], shared: Int64?)] = [
      ("c", [:], 7), ("c", [2: 5], 7), ("b", [2: 5], 5), ("b", [1: 3], 7), ("b", [1: 3, 2: 5], 5),
      ("a", [1: 3, 2: 5], 3),
      ("a", [2: 5], 5), ("a", [:], 7), ("a", [1: 0], 0), ("x", [:], nil), (nil, [:], nil),
    ]
    for row in table {
      #expect(
        history.sharedVersion(of: 7, startVersions: row.startVersions, with: row.epoch) == row.shared, "\(row)")
    }
  }

  @Test(
    "A base is trusted up to the shared version, and not at all from an unknown epoch or above the record's version")
  func trustedBases() {
    let table: [(base: Int64, epoch: String?, startVersions: [Int: Int64], trusted: Int64?)] = [
      (7, "c", [:], 7), (4, "c", [:], 4), (8, "c", [:], nil), (4, "b", [2: 5], 4), (9, "b", [2: 5], 5),
      (9, "a", [:], 7), (7, "x", [:], nil), (7, nil, [:], nil),
    ]
    for row in table {
      #expect(
        history.trustedBase(row.base, of: row.epoch, version: 7, startVersions: row.startVersions) == row.trusted,
        "\(row)")
    }
  }

  @Test("A key executes one content once; a response without a digest counts only if the record shows it")
  func keys() {
    let content = OperationContent(key: "k", operation: ["idempotencyKey": "k", "operationId": "o", "baseVersion": 1])
    let again = OperationContent(
      key: "k", operation: ["baseVersion": 1, "operationId": "o", "idempotencyKey": "other"])
    let other = OperationContent(key: "k", operation: ["operationId": "o", "baseVersion": 2])
    #expect(content.digest == again.digest && content.digest != other.digest)
    let renamed = OperationContent(
      key: "k", operation: ["operationId": "o", "baseVersion": 2, "sealedDigest": .text(content.digest)])
    #expect(renamed.digest == content.digest && renamed.isRenamed && !content.isRenamed)
    #expect(!OperationContent(key: "k", operation: ["sealedDigest": "0"]).isRenamed)
    func verdict(_ stored: String??, _ isTakenOver: Bool = false) -> KeyDecision {
      KeyDecision(stored: stored, content: content) { isTakenOver }
    }
    #expect(verdict(.none) == .execute)
    #expect(verdict(.some(content.digest)) == .returnStoredResponse)
    #expect(verdict(.some(other.digest)) == .keyReused)
    #expect(verdict(.some(nil), true) == .returnStoredResponse)
    #expect(verdict(.some(nil), false) == .keyReused)
  }

  @Test("A lower counter, or the same counter with other operations, proves that a vault was copied")
  func copies() {
    let last = DeviceCounter(counter: 5, operations: [OperationContent(key: "k", operation: [:])])
    let table: [(counter: Int64, key: String, isCopy: Bool)] = [
      (6, "k", false), (6, "l", false), (5, "k", false), (5, "l", true), (4, "k", true), (900, "l", false),
    ]
    for row in table {
      let mark = DeviceCounter(counter: row.counter, operations: [OperationContent(key: row.key, operation: [:])])
      #expect(mark.provesCopy(after: last) == row.isCopy, "\(row)")
      #expect(!mark.provesCopy(after: nil))
    }
  }

  @Test("A server accepts the versions of devices that it speaks, and no others")
  func versions() {
    for header in [nil, "", "1", "3", "two", "-2", " 2"] { #expect(!WireProtocol.accepts(header)) }
    #expect(WireProtocol.accepts("2"))
  }
}
