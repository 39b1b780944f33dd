import Foundation
import TestSupport
import Testing

/// Damage differs from a wrong passphrase, and damaged files are never changed.
@Suite
struct DamageTests {
  /// A way to damage a vault.
  struct Damage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let says: String
    let make: @Sendable (Workshop) throws -> Void

    init(_ name: String, says: String, make: @escaping @Sendable (Workshop) throws -> Void) {
      testDescription = name
      self.says = says
      self.make = make
    }
  }

  private static let keyring = "v.vault/keyring.json"
  private static let database = "v.vault/db/0001/vault.db"

  @Test(
    "A damaged vault is reported with the damaged part",
    arguments: [
      Damage("the keyring is cut short", says: "keyring.json: the keyring is damaged") {
        try change($0, keyring) { $0 = $0.prefix(200) }
      },
      Damage("the keyring is empty", says: "keyring.json: the keyring is damaged") {
        try change($0, keyring) { $0 = [] }
      },
      Damage("a bit of the keyring flips", says: "does not match its checksum") {
        try change($0, keyring) { $0[400] ^= 1 }
      },
      Damage("the keyring is missing", says: "the keyring of") {
        try FileManager.default.removeItem(atPath: $0.path(keyring))
      },
      Damage("absurd memory for Argon2id", says: "the Argon2id parameter memLimitBytes is 99999999999") {
        try parameter($0, "memLimitBytes", "99999999999")
      },
      Damage("absurd passes of Argon2id", says: "the Argon2id parameter opsLimit is 4000000000") {
        try parameter($0, "opsLimit", "4000000000")
      },
      Damage("almost no memory for Argon2id", says: "the Argon2id parameter memLimitBytes is 1024") {
        try parameter($0, "memLimitBytes", "1024")
      },
      Damage("the keyring is of another vault", says: "the keyring opens but the database does not") { shop in
        try shop.done("init", "--schema", "restoration", vault: "other.vault")
        try FileManager.default.removeItem(atPath: shop.path(keyring))
        try FileManager.default.copyItem(atPath: shop.path("other.vault/keyring.json"), toPath: shop.path(keyring))
      },
      Damage("the first bit of the database flips", says: "vault.db is damaged") {
        try change($0, database) { $0[3] ^= 1 }
      },
      Damage("the database is cut short", says: "vault.db is damaged") {
        try change($0, database) { $0 = $0.prefix(10_000) }
      },
      Damage("the database is empty", says: "vault.db is damaged") { try change($0, database) { $0 = [] } },
      Damage("the database is missing", says: "missing") {
        try FileManager.default.removeItem(atPath: $0.path(database))
      },
    ])
  func damageIsNamed(_ damage: Damage) throws {
    let shop = try Workshop(.passphrase)
    try damage.make(shop)
    let before = try files(shop)
    for arguments in [["list", "Project"], ["put", "Project", "title=x"]] {
      let ran = try shop.run(arguments)
      #expect(ran.status == 5, "\(ran.errors)")
      #expect(ran.output.isEmpty)
      #expect(ran.errors.contains(damage.says), "'\(damage.says)' is not in: \(ran.errors)")
    }
    #expect(try files(shop) == before)
  }

  /// The bytes of the keyring and the database.
  private func files(_ shop: Workshop) throws -> [Data?] {
    [Self.keyring, Self.database].map { FileManager.default.contents(atPath: shop.path($0)) }
  }

  private static func change(_ shop: Workshop, _ name: String, _ body: (inout ArraySlice<UInt8>) -> Void) throws {
    var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: shop.path(name))))[...]
    body(&bytes)
    try shop.write(Array(bytes), to: name)
  }

  /// Sets a parameter of the passphrase in the keyring, with a checksum that is right.
  private static func parameter(_ shop: Workshop, _ name: String, _ value: String) throws {
    var text = try String(contentsOfFile: shop.path(keyring), encoding: .utf8)
    let place = try #require(text.range(of: "\"\(name)\": [0-9]+", options: .regularExpression))
    text.replaceSubrange(place, with: "\"\(name)\": \(value)")
    let end = try #require(text.range(of: "  \"checksum\""))
    text = String(text[..<end.lowerBound])
    let sum = try run(try #require(tool("sha256sum")), [try shop.write(text, to: "text")]).output.prefix(64)
    try shop.write(text + "  \"checksum\": \"\(sum)\"\n}\n", to: keyring)
  }
}
