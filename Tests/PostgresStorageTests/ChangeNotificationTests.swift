import Platform
import ServerStorage
import ServerSupport
import TestSupport
import Testing

@testable import PostgresStorage

@Suite struct ChangeNotificationTests {
  @Test("notifications carry every change once, within the length that PostgreSQL accepts", arguments: 1...20)
  func texts(_ seed: UInt64) throws {
    var random = Seeded(seed)
    var changes: [String: CommittedChanges] = [:]
    for _ in 0..<Int.random(in: 1...600, using: &random) {
      let count = Int.random(in: 0...25, using: &random)
      var projects = Bool.random(using: &random) ? Set((0..<count).map { _ in newUuid() }) : nil
      if Bool.random(using: &random) {
        // The holders of memberships stand beside projects.
        projects?.formUnion(Viewer(userId: 7, record: newUuid(), isLimited: true).holders)
      }
      let author = [nil, newUuid(), "device:1,2"].randomElement(using: &random) ?? nil
      if Int.random(in: 0..<10, using: &random) == 0 {
        changes[newUuid()] = CommittedChanges(epochAt: Int64.random(in: 1...99, using: &random))
        continue
      }
      let first = Int64.random(in: 1...(1 << 60), using: &random)
      changes[newUuid()] = CommittedChanges(
        first...first + Int64.random(in: 0...9, using: &random), projects: projects, author: author)
    }
    var (left, told): ([String: CommittedChanges], [String: CommittedChanges]) = (changes, [:])
    while let text = ChangeNotification.take(from: &left, of: "node") {
      #expect(text.utf8.count <= ChangeNotification.greatestLength)
      let notification = try #require(ChangeNotification(text))
      #expect(notification.node == "node" && !notification.changes.isEmpty)
      told.merge(notification.changes) { first, _ in
        Issue.record("a change was told twice")
        return first
      }
    }
    let expected = changes.mapValues { change in
      if change.isNewEpoch { return change }
      let areNamed = (change.projects?.count ?? 0) <= ChangeNotification.mostProjects
      return CommittedChanges(
        change.numbers, projects: areNamed ? change.projects : nil,
        author: change.author.flatMap { UUIDText.isCanonical($0) ? $0 : nil })
    }
    #expect(told == expected, "seed \(seed)")
  }
}
