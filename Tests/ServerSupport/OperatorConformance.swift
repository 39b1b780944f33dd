import Foundation
import ServerStorage
import SyncModel
import TestSupport
import Testing

/// Checks the access of operators and the pages of rows of a new directory, on any engine.
/// - Parameter clock: the clock of the directory, which stands still.
package func checkOperators(of directory: any AccountDirectory, _ clock: TestClock) throws {
  // A link opens one session, once.
  let link = try directory.addOperatorLink()
  #expect(try directory.openOperatorSession(link: "") == nil)
  #expect(try directory.openOperatorSession(link: link + "x") == nil)
  #expect(try !directory.useOperatorSession(link), "the key of a link is no session")
  let session = try #require(try directory.openOperatorSession(link: link))
  #expect(try directory.openOperatorSession(link: link) == nil)
  #expect(session != link)
  #expect(try directory.useOperatorSession(session))
  #expect(try !directory.useOperatorSession("") && !directory.useOperatorSession(session + "x"))
  let late = try directory.addOperatorLink()
  clock.advance(by: .milliseconds(OperatorSession.linkLifetime))
  #expect(try directory.openOperatorSession(link: late) == nil, "the link has expired")

  // Each use extends a session, and two do not disturb each other.
  #expect(try directory.useOperatorSession(session))
  let second = try #require(try directory.openOperatorSession(link: try directory.addOperatorLink()))
  clock.advance(by: .milliseconds(OperatorSession.idleTime - 1))
  #expect(try directory.useOperatorSession(session))
  clock.advance(by: .milliseconds(1))
  #expect(try !directory.useOperatorSession(second), "idle for too long")
  #expect(try directory.useOperatorSession(session))
  for _ in 0..<Int(OperatorSession.lifetime / OperatorSession.storedEvery / 10) {
    clock.advance(by: .milliseconds(OperatorSession.storedEvery * 10))
    _ = try directory.useOperatorSession(session)
  }
  #expect(try !directory.useOperatorSession(session), "too old")
  let added = try directory.auditLog(since: nil, atMost: 9).filter { $0.action == "operator link added" }
  #expect(added.count == 3 && added.allSatisfy { $0.user == nil && $0.details.isEmpty })

  try checkPages(of: directory, clock)
}

/// Names that could be markup, or that compare in another way than by bytes.
private let names = ["<script>", "A'\"&", "Z", "a", "e\u{301}", "\u{E9}", "\u{202E}x"]

private func checkPages(of directory: any AccountDirectory, _ clock: TestClock) throws {
  /// Returns the rows of all pages.
  func all<Row>(_ page: (Row?) throws -> [Row]) throws -> [Row] {
    var rows: [Row] = []
    while true {
      let next = try page(rows.last)
      #expect(next.count <= 2)
      if next.isEmpty { return rows }
      rows += next
    }
  }
  #expect(try DirectoryRows.allCases.map { try directory.count(of: $0, atMost: 9) } == [0, 0, 0])
  for (number, name) in names.enumerated() {
    _ = try directory.addUser("user \(name)", account: name, role: .device, expires: nil)
    if number == 0 {
      for more in 1...4 { _ = try directory.addUser("more \(more)", account: name, role: .service, expires: nil) }
    }
  }
  #expect(try DirectoryRows.allCases.map { try directory.count(of: $0, atMost: 9) } == [7, 9, 0])
  let accounts = try all { try directory.accounts(after: $0?.account.name, atMost: 2) }
  #expect(accounts.map(\.account.name) == names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
  #expect(accounts.first { $0.account.name == "<script>" }?.users == 5)
  #expect(try directory.account("<script>") == accounts.first { $0.account.name == "<script>" })
  #expect(try directory.account("other") == nil)

  let account = try #require(try directory.account("<script>")).account
  let users = try all { try directory.users(of: account, after: $0?.id, atMost: 2) }
  #expect(users.map(\.name) == ["user <script>", "more 1", "more 2", "more 3", "more 4"])
  #expect(users.allSatisfy { $0.account == account && !$0.isRevoked && $0.record == nil })
  #expect(try directory.user("more 2") == users[2])
  #expect(try directory.user("more") == nil)
  #expect(try directory.revokeUser("more 2") == 1)
  #expect(try directory.user("more 2")?.isRevoked == true)

  for number in 1...4 {
    _ = try directory.addToken(to: "more 1", role: .device, label: "<img src=x> \(number)", expires: nil)
  }
  let tokens = try all { try directory.tokens(of: users[1], before: $0?.id, atMost: 2) }
  #expect(tokens == (try directory.tokens(of: "more 1").reversed()))
  #expect(tokens.count == 5 && tokens.first?.label == "<img src=x> 4")

  let member = Member(tokenId: tokens[0].id, role: .device, userId: users[1].id, name: "more 1", account: account)
  let contacts = (1...5).map { number in
    (
      DeviceContact.Key(account, "device-\(number)"),
      DeviceContact(tokenId: member.tokenId, time: clock.now, version: "0.4", position: Int64(number))
    )
  }
  try directory.note(Dictionary(uniqueKeysWithValues: contacts))
  let devices = try all { try directory.devices(of: account, after: $0?.id, atMost: 2) }
  #expect(devices.map(\.id) == (1...5).map { "device-\($0)" })
  #expect(devices.allSatisfy { $0.user == "more 1" && $0.account == account && $0.version == "0.4" })
  #expect(try directory.count(of: .devices, atMost: 3) == 3)

  let entries = try all { try directory.auditLog(before: $0?.number, atMost: 2) }
  #expect(entries == (try directory.auditLog(since: nil, atMost: 1_000).reversed()))

  // The rows of an account whose deletion has begun are not shown.
  _ = try directory.beginDeletion(of: "<script>", by: nil)
  #expect(try directory.account("<script>") == nil && directory.user("more 1") == nil)
  #expect(try directory.users(of: account, after: nil, atMost: 2).isEmpty)
  #expect(try directory.devices(of: account, after: nil, atMost: 2).isEmpty)
  #expect(try all { try directory.accounts(after: $0?.account.name, atMost: 2) }.count == names.count - 1)
}
