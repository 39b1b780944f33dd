import ServerStorage
import ServerSupport
import TestSupport
import Testing

@testable import PostgresStorage

@Suite struct ChangeNotificationTests {
  @Test("notifications carry every change once, within the length that PostgreSQL accepts", arguments: 1...20)
  func texts(_ seed: UInt64) throws {
    var random = Seeded(seed)
    var changes: [String: ChangeScope] = [:]
    for _ in 0..<Int.random(in: 1...600, using: &random) {
      let count = Int.random(in: 0...25, using: &random)
      changes[newUuid()] = count == 0 ? ChangeScope() : ChangeScope(Set((0..<count).map { _ in newUuid() }))
    }
    var (left, told): ([String: ChangeScope], [String: ChangeScope]) = (changes, [:])
    while let text = ChangeNotification.take(from: &left, of: "node") {
      #expect(text.utf8.count <= ChangeNotification.greatestLength)
      let notification = try #require(ChangeNotification(text))
      #expect(notification.node == "node" && !notification.changes.isEmpty)
      told.merge(notification.changes) { first, _ in
        Issue.record("a change was told twice")
        return first
      }
    }
    let expected = changes.mapValues { scope in
      (scope.projects?.count ?? 0) > ChangeNotification.mostProjects ? ChangeScope() : scope
    }
    #expect(told == expected, "seed \(seed)")
  }
}
