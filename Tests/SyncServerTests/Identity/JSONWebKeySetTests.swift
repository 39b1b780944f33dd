import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import ServerStorage

/// The keys of an identity provider.
@Suite struct JSONWebKeySetTests {
  private func refusal(_ text: String) -> String? {
    do throws(JSONWebKeyError) {
      _ = try JSONWebKeySet(parsing: Array(text.utf8))
      return nil
    } catch {
      return error.message
    }
  }

  private static func key(_ kind: TokenSigner.Kind, _ changes: SyncObject = [:]) throws -> String {
    var key = try #require(JSONWebTokenTests.signers[kind]).key
    for member in changes.members { key[member.name] = member.value == .null ? nil : member.value }
    return SyncValue.object(key).json
  }

  @Test("A document that is no set of public keys is refused with the member")
  func refusals() throws {
    for (text, message) in [
      ("", "not JSON"), ("{}", "the member keys"), ("[]", "the member keys"), (#"{"keys":{}}"#, "the member keys"),
      (#"{"keys":[]}"#, "keys has no key"), (#"{"keys":[1]}"#, "keys[0] is not an object"),
      (#"{"keys":[],"keys":[]}"#, "not JSON"), (#"{"keys":[{}]}"#, "keys[0].kty is missing"),
      (#"{"keys":[{"kty":1}]}"#, "keys[0].kty is not a text"), (#"{"keys":[{"kty":"EC"}]}"#, "keys[0].crv is missing"),
      ("{\"keys\":[" + String(repeating: "{},", count: 100) + "{}]}", "keys has more than 100"),
      ("{\"keys\":\"" + String(repeating: "x", count: 1 << 18) + "\"}", "the set has more than 256 KiB"),
    ] { #expect(refusal(text)?.hasPrefix(message) == true, "\(text.prefix(80)): \(refusal(text) ?? "")") }
    let zeros = base64URL([UInt8](repeating: 0, count: 32))
    for (key, message) in try [
      (Self.key(.p256, ["x": .null]), "keys[1].x is missing"),
      (Self.key(.p256, ["x": "+"]), "keys[1].x is not base64url"),
      (Self.key(.p256, ["x": 1]), "keys[1].x is not a text"),
      (Self.key(.p256, ["y": "AA"]), "keys[1].y does not have 32 bytes"),
      (Self.key(.p256, ["x": .text(zeros), "y": .text(zeros)]), "keys[1] is not a valid public key"),
      (Self.key(.p256, ["d": "AA"]), "keys[1] is a private key"),
      (Self.key(.p256, ["kid": 1]), "keys[1].kid is not a text"),
      (Self.key(.p256, ["alg": "RS256"]), "keys[1].alg does not fit"),
      (Self.key(.rsa, ["n": .null]), "keys[1].n is missing"),
      (Self.key(.rsa, ["e": "AA"]), "keys[1].e is not a valid"),
      (Self.key(.rsa, ["e": "AQ"]), "keys[1].e is not a valid"),
      (Self.key(.rsa, ["e": "Ag"]), "keys[1].e is not a valid"),
      (Self.key(.ed25519, ["x": "AAAA"]), "keys[1].x does not have 32"),
      (Self.key(.p384), "keys[1].kid is not unique"),
    ] {
      let refusal = self.refusal(#"{"keys":[\#(try Self.key(.p384)),\#(key)]}"#)
      #expect(refusal?.hasPrefix(message) == true, "\(key): \(refusal ?? "accepted")")
    }
  }

  @Test("Keys that cannot verify signatures are left out")
  func otherKeys() throws {
    let weak = SyncValue.object(try TokenSigner(.rsa, id: "weak", bits: 1_024).key).json
    let others = try [
      #"{"kty":"oct","k":"AAAA","d":"AA"}"#, #"{"kty":"new"}"#, #"{"kty":"OKP","crv":"X25519","x":"AA"}"#, weak,
      #"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}"#, Self.key(.rsa, ["use": "enc"]),
      Self.key(.rsa, ["key_ops": ["encrypt"]]), Self.key(.rsa, ["alg": "RSA-OAEP"]),
    ]
    let good = try Self.key(.p256, ["use": "sig", "key_ops": ["verify"], "alg": "ES256", "x5c": ["AA"]])
    let set = try JSONWebKeySet(parsing: Array("{\"keys\":[\((others + [good]).joined(separator: ","))]}".utf8))
    #expect(set.keys.map(\.id) == ["key p256"])
    #expect(refusal("{\"keys\":[\(others.joined(separator: ","))]}") == "keys has no key that verifies signatures")
  }

  @Test("Base64url has one text for the same bytes")
  func base64() {
    #expect(Base64URL.bytes(Array("".utf8)) == [])
    #expect(Base64URL.bytes(Array("AQAB".utf8)) == [1, 0, 1])
    #expect(Base64URL.bytes(Array("_-8".utf8)) == [0xFF, 0xEF])
    for text in ["A", "AQ=", "AQ==", "AR", "AAB", "A A", "+/8", "AQAB\n", "AQAB="] {
      #expect(Base64URL.bytes(Array(text.utf8)) == nil, "\(text)")
    }
  }
}
