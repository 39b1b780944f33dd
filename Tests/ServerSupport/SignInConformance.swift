import Foundation
import ServerStorage
import SyncModel
import TestSupport
import Testing

/// Checks the sign-in of users of an identity provider in a new directory, on any engine.
/// - Parameter clock: the clock of the directory, which stands still.
package func checkSignIn(of directory: any AccountDirectory, _ clock: TestClock) throws {
  func identity(
    _ user: String, account: String = "water", role: TokenRole = .device, issuer: String = "https://id.example.org",
    creates: Bool = false
  ) -> Identity {
    Identity(
      issuer: issuer, account: account, user: user, role: role, expiresAt: clock.now + 600_000, createsAccount: creates)
  }
  func refusal(_ identity: Identity) -> ServerError.Code? {
    do {
      _ = try directory.member(identity)
      return nil
    } catch { return (error as? ServerError)?.code }
  }
  func newEvents(_ body: () throws -> Void) throws -> [String] {
    let before = try directory.auditLog(since: nil, atMost: 1_000).count
    try body()
    return try directory.auditLog(since: nil, atMost: 1_000).dropFirst(before).map {
      "\($0.actor): \($0.action) \($0.user ?? ""): \($0.details)"
    }
  }

  // A missing account is an error unless the settings allow to create it, and then nothing was added.
  #expect(refusal(identity("ada")) == .signInRefused)
  #expect(try directory.users().isEmpty && directory.accounts().isEmpty)
  _ = try directory.addUser("bob", account: "water", role: .device, expires: nil)

  // The first token of a user adds the user, once.
  var ada: Member?
  let added = try newEvents { ada = try directory.member(identity("ada")) }
  #expect(added == ["user ada: user added ada: account water, role device, identity provider https://id.example.org"])
  let first = try #require(ada)
  #expect(first.name == "ada" && first.account.name == "water" && first.role == .device)
  #expect(first.expiresAt == clock.now + 600_000)
  let same = try newEvents { ada = try directory.member(identity("ada")) }
  #expect(same == [] && ada == first)
  #expect(try directory.isValid(first))
  #expect(try directory.users().map(\.name) == ["ada", "bob"])
  let row = try #require(try directory.tokens(of: "ada").first)
  #expect(row.id == first.tokenId && row.label == "identity provider" && row.expiresAt == nil && row.role == .device)

  // Each role of a user is a sign-in of its own, of the same user.
  let events = try newEvents { _ = try directory.member(identity("ada", role: .admin)) }
  let admin = try directory.member(identity("ada", role: .admin))
  #expect(
    events == [
      "user ada: token added ada: token \(admin.tokenId), role admin, identity provider https://id.example.org"
    ])
  #expect(admin.role == .admin && admin.userId == first.userId && admin.tokenId != first.tokenId)
  // A user that was added by a command is the same user.
  let bob = try directory.member(identity("bob"))
  #expect(try directory.tokens(of: "bob").map(\.id).last == bob.tokenId)

  // The user of another account, and unsuitable names.
  _ = try directory.addUser("eve", account: "fire", role: .device, expires: nil)
  #expect(refusal(identity("eve")) == .signInRefused)
  #expect(refusal(identity("ada", account: "fire")) == .signInRefused)
  #expect(refusal(identity("ada", account: "new", creates: true)) == .signInRefused)
  for name in ["", " ada", "a\nb", String(repeating: "x", count: 101)] {
    #expect(refusal(identity(name)) == .badName && refusal(identity("zoe", account: name, creates: true)) == .badName)
  }
  // Another issuer signs in again, and is recorded.
  #expect(try directory.member(identity("ada", issuer: "https://other")).tokenId != first.tokenId)
  // A new account, if the settings allow it.
  #expect(refusal(identity("kim", account: "earth")) == .signInRefused)
  #expect(try directory.member(identity("kim", account: "earth", creates: true)).account.name == "earth")
  #expect(try directory.member(identity("kim", account: "earth")).name == "kim")

  // No token of this server has the hash of a sign-in.
  #expect(try directory.member(token: "https://id.example.org\0water\0ada\0device") == nil)

  // A revoked sign-in is refused, and others of the user are not.
  clock.advance(by: .seconds(10))
  #expect(try directory.revokeToken(admin.tokenId))
  #expect(refusal(identity("ada", role: .admin)) == .signInRefused)
  #expect(try !directory.isValid(admin) && directory.isValid(first))
  #expect(refusal(identity("ada")) == nil)
  // A revoked user is refused with every role and issuer, until a command adds a token.
  clock.advance(by: .seconds(10))
  #expect(try directory.revokeUser("ada") == 2)
  #expect(try !directory.isValid(first))
  for role in TokenRole.allCases {
    #expect(refusal(identity("ada", role: role)) == .signInRefused)
    #expect(refusal(identity("ada", role: role, issuer: "https://third")) == .signInRefused)
  }
  clock.advance(by: .seconds(10))
  let token = try directory.addUser("ada", account: nil, role: .device, expires: nil).token
  let again = try newEvents { ada = try directory.member(identity("ada")) }
  #expect(
    again == [
      "user ada: token added ada: token \(first.tokenId), role device, identity provider https://id.example.org"
    ])
  #expect(ada?.tokenId == first.tokenId)
  #expect(try directory.isValid(first) && directory.member(token: token)?.userId == first.userId)
  // A token from before the revocation does not let the user in.
  clock.advance(by: .seconds(10))
  #expect(try directory.revokeToken(first.tokenId))
  #expect(refusal(identity("ada")) == .signInRefused)
  #expect(try directory.member(token: token) != nil)
}
