import Foundation
import ServerStorage
import SyncModel
import TestSupport
import Testing

/// Checks the audit log of a new directory, on any engine.
/// - Parameters:
///   - clock: the clock of the directory, which stands still.
///   - actor: the acting user of the directory.
package func checkAuditLog(of directory: any AccountDirectory, _ clock: TestClock, actor: String) throws {
  struct Line: Equatable {
    let action: String
    let user: String?
    let details: String
  }
  func lines(since: Int64? = nil, atMost limit: Int = 100) throws -> [Line] {
    try directory.auditLog(since: since, atMost: limit).map {
      Line(action: $0.action, user: $0.user, details: $0.details)
    }
  }
  let start = clock.now
  let end = Date(millisecondsSince1970: start + 86_400_000)
  #expect(try directory.lastTime(of: .backedUp) == nil)
  let first = try directory.addUser("ada", account: "water", role: .device, expires: nil).token
  clock.advance(by: .seconds(10))
  let (id, token) = try directory.addToken(to: "ada", role: .service, label: "reader", expires: end)
  #expect(try directory.revokeToken(id))
  clock.advance(by: .seconds(10))
  #expect(try directory.revokeUser("ada") == 1)
  #expect(try directory.revokeUser("ada") == 0, "no event")
  let again = try directory.addUser("ada", account: nil, role: .admin, expires: nil).token
  try directory.note(.backedUp(accounts: 1, files: 2, bytes: 3))

  let accounts = try directory.listedAccounts()
  #expect(accounts.map(\.account) == (try directory.accounts()) && accounts.map(\.users) == [1])
  #expect(
    accounts[0].createdAt == Date(millisecondsSince1970: start).ISO8601Format(.init(includingFractionalSeconds: true)))

  // The time of the last use never steps back, and unknown tokens are passed over.
  try directory.noteUse(of: [id: start + 5_000, 99: start])
  try directory.noteUse(of: [id: start + 3_000])
  try directory.noteUse(of: [:])
  let used = Date(millisecondsSince1970: start + 5_000).ISO8601Format(.init(includingFractionalSeconds: true))
  #expect(try directory.tokens(of: nil).map { $0.id == id ? $0.lastUsedAt : nil }.compactMap { $0 } == [used])
  #expect(try directory.tokens(of: nil).filter { $0.id != id }.allSatisfy { $0.lastUsedAt == nil })

  // What changes nothing, or fails, is no event.
  #expect(try !directory.revokeToken(id))
  #expect(throws: ServerError.self) { try directory.revokeToken(99) }
  #expect(throws: ServerError.self) { try directory.revokeUser("eve") }
  #expect(throws: ServerError.self) { try directory.addUser("ada", account: nil, role: .device, expires: nil) }
  #expect(throws: ServerError.self) { try directory.addToken(to: "eve", role: .device, label: nil, expires: nil) }

  let expected = [
    Line(action: "user added", user: "ada", details: "account water, role device"),
    Line(
      action: "token added", user: "ada",
      details:
        "token \(id), role service, label reader, expires \(end.ISO8601Format(.init(includingFractionalSeconds: true)))"
    ),
    Line(action: "token revoked", user: "ada", details: "token \(id)"),
    Line(action: "user revoked", user: "ada", details: "tokens: 1"),
    Line(action: "user added", user: "ada", details: "account water, role admin"),
    Line(action: "backed up", user: nil, details: "accounts: 1, files: 2, bytes: 3"),
  ]
  #expect(try lines() == expected)
  #expect(try lines(atMost: 2) == Array(expected.suffix(2)))
  #expect(try lines(since: start + 10_000) == Array(expected.dropFirst()))
  #expect(try lines(since: start + 20_001) == [])
  #expect(try directory.lastTime(of: .backedUp) == clock.now)
  let entries = try directory.auditLog(since: nil, atMost: 100)
  #expect(entries.allSatisfy { $0.actor == actor })
  #expect(entries.map(\.time) == [0, 10, 10, 20, 20, 20].map { start + $0 * 1_000 })
  #expect(zip(entries, entries.dropFirst()).allSatisfy { $0.number < $1.number })
  for secret in [first, token, again] { #expect(!"\(entries)".contains(secret)) }
}

/// Checks the settings of memberships of a new directory, on any engine.
package func checkMembershipSettings(of directory: any AccountDirectory) throws {
  let record = newUuid()
  let ada = try directory.addUser("ada", account: "water", role: .device, expires: nil, record: record).token
  let ben = try directory.addUser("ben", account: "water", role: .device, expires: nil).token
  let office = try directory.addUser("office", account: "water", role: .service, expires: nil).token
  _ = try directory.addUser("cid", account: "fire", role: .device, expires: nil)
  func viewers() throws -> [Viewer?] { try [ada, ben, office].map { try directory.member(token: $0)?.viewer } }
  let before = try viewers()
  #expect(before.map { $0?.record } == [record, nil, nil] && before.allSatisfy { $0?.isLimited == false })
  #expect(Set(before.map { $0?.userId }).count == 3)

  #expect(try directory.setMembership(true, of: "water") == ["ben", "office"])
  #expect(try viewers().map { $0?.isLimited } == [true, true, false], "a service is not limited")
  #expect(try directory.listedAccounts().map(\.limitsToMembers) == [false, true])
  let other = newUuid()
  try directory.linkUser("ben", to: other)
  try directory.linkUser("ada", to: nil)
  #expect(try viewers().map { $0?.record } == [nil, other, nil])
  #expect(try directory.users().map(\.record) == [nil, other, nil, nil])
  // A user who gets a token again keeps the record.
  _ = try directory.revokeUser("ben")
  _ = try directory.addUser("ben", account: nil, role: .device, expires: nil)
  #expect(try directory.users().first { $0.name == "ben" }?.record == other)
  #expect(try directory.setMembership(false, of: "water") == ["ada", "office"])
  #expect(try viewers()[0]?.isLimited == false)

  #expect(throws: ServerError.self) { try directory.linkUser("eve", to: record) }
  #expect(throws: ServerError.self) { try directory.setMembership(true, of: "earth") }
  let entries = try directory.auditLog(since: nil, atMost: 100).map { [$0.action, $0.user ?? "", $0.details] }
  #expect(entries.contains(["user added", "ada", "account water, role device, record \(record)"]))
  #expect(
    entries.filter { $0[0] == "membership changed" }
      == [["membership changed", "", "account water, on"], ["membership changed", "", "account water, off"]])
  #expect(
    entries.filter { $0[0] == "user linked" }
      == [["user linked", "ben", "record \(other)"], ["user linked", "ada", "no record"]])
}
