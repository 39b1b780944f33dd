import SyncModel
import Testing

@testable import ServerStorage

/// The decision whether a user of an identity provider is let in; `checkSignIn` checks it over a directory.
@Suite struct SignInTests {
  private let identity = Identity(issuer: "i", account: "water", user: "ada", role: .device, expiresAt: 0)

  @Test("A user without any token signs in, and one with a revoked token only does not")
  func tokens() throws {
    func signIn(_ tokens: [SignIn.Facts.Token]) throws(ServerError) -> SignIn {
      try SignIn(identity, SignIn.Facts(userAccount: "water", hasAccount: true, tokens: tokens))
    }
    let new = try signIn([])
    #expect(!new.addsUser && !new.renews)
    #expect(throws: ServerError.self) {
      try signIn([.init(createdAt: "1", revokedAt: "2", isOwn: false, isSignIn: false)])
    }
    #expect(throws: ServerError.self) {
      try signIn([.init(createdAt: "1", revokedAt: "2", isOwn: true, isSignIn: true)])
    }
    // At the same time is not later.
    let own = SignIn.Facts.Token(createdAt: "1", revokedAt: "2", isOwn: true, isSignIn: true)
    #expect(throws: ServerError.self) {
      try signIn([own, .init(createdAt: "2", revokedAt: nil, isOwn: false, isSignIn: false)])
    }
    #expect(try signIn([own, .init(createdAt: "3", revokedAt: nil, isOwn: false, isSignIn: false)]).renews)
    // A sign-in with another role, which the user has made, does not bring back a revoked one.
    #expect(throws: ServerError.self) {
      try signIn([own, .init(createdAt: "3", revokedAt: nil, isOwn: false, isSignIn: true)])
    }
    #expect(try !signIn([.init(createdAt: "3", revokedAt: nil, isOwn: false, isSignIn: true)]).renews, "another role")
  }

  @Test("Each part of an identity is a part of its hash")
  func hashes() {
    var hashes: Set<[UInt8]> = []
    for issuer in ["i", "j", ""] {
      for (account, user) in [("a", "b"), ("ab", ""), ("", "ab"), ("a1:b", "")] {
        for role in TokenRole.allCases {
          let identity = Identity(issuer: issuer, account: account, user: user, role: role, expiresAt: 0)
          #expect(hashes.insert(identity.hash).inserted)
          // Not the expiry, because all tokens of a user are one sign-in.
          #expect(
            Identity(issuer: issuer, account: account, user: user, role: role, expiresAt: 9).hash == identity.hash)
        }
      }
    }
  }
}
