import Foundation
import Testing

@testable import FileServer

/// Signatures, compared with AWS's published examples.
@Suite struct SignatureV4Tests {
  /// The examples of "Authenticating Requests (AWS Signature Version 4)" of the reference of S3, for `examplebucket`.
  private func s3() throws -> SignatureV4 {
    SignatureV4(
      try credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), region: "us-east-1")
  }

  private let day: Int64 = 1_369_353_600_000  // 2013-05-24T00:00:00Z
  private let host = "examplebucket.s3.amazonaws.com"
  private let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  private func signed(
    _ method: String, _ path: String, _ query: [(name: String, value: String)] = [],
    _ headers: [(name: String, value: String)] = [], payload: String? = nil
  ) -> SignatureV4.Signed {
    SignatureV4.Signed(
      method: method, path: path, query: query,
      headers: [
        ("Host", host), ("x-amz-content-sha256", payload ?? nothing), ("x-amz-date", "20130524T000000Z"),
      ] + headers, payload: payload ?? nothing)
  }

  @Test("Signatures equal the examples of the S3 reference") func theExamplesOfTheReferenceOfS3() throws {
    let s3 = try s3()
    let get = signed("GET", "/test.txt", [], [("Range", "bytes=0-9")])
    #expect(
      get.canonical == """
        GET
        /test.txt

        host:examplebucket.s3.amazonaws.com
        range:bytes=0-9
        x-amz-content-sha256:\(nothing)
        x-amz-date:20130524T000000Z

        host;range;x-amz-content-sha256;x-amz-date
        \(nothing)
        """)
    #expect(HMAC.sha256(get.canonical) == "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972")
    #expect(s3.signature(of: get, at: day) == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    let put = signed(
      "PUT", "/test%24file.text", [],
      [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
      payload: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
    #expect(s3.signature(of: put, at: day) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    let lifecycle = signed("GET", "/", [("lifecycle", "")])
    #expect(s3.signature(of: lifecycle, at: day) == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    let list = signed("GET", "/", [("prefix", "J"), ("max-keys", "2")])
    #expect(s3.signature(of: list, at: day) == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
  }

  /// "Authenticating Requests: Using Query Parameters", its worked example.
  @Test("A presigned address equals the example of the S3 reference") func thePresignedAddressOfTheReferenceOfS3()
    throws
  {
    #expect(
      try s3().query(presigning: "GET", "/test.txt", headers: [("host", host)], seconds: 86_400, at: day)
        == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
        + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
  }

  /// Cases of the "Signature Version 4 Test Suite".
  @Test(
    "Signatures equal those of the Signature Version 4 test suite",
    arguments: [
      ("GET", "/", [], [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
      (
        "GET", "/", [("Param2", "value2"), ("Param1", "value1")], [],
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
      ),
      ("GET", "/%E1%88%B4", [], [], "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
      (
        "GET", "/", [], [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"
      ),
      ("POST", "/", [], [], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
      ("POST", "/", [("Param1", "value1")], [], "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
    ] as [(String, String, [(String, String)], [(String, String)], String)])
  func theTestSuite(
    method: String, path: String, query: [(String, String)], headers: [(String, String)], signature: String
  ) throws {
    let signer = SignatureV4(
      try credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), region: "us-east-1",
      service: "service")
    let request = SignatureV4.Signed(
      method: method, path: path, query: query,
      headers: [("Host", "example.amazonaws.com"), ("X-Amz-Date", "20150830T123600Z")] + headers, payload: nothing)
    #expect(signer.signature(of: request, at: 1_440_938_160_000) == signature)
  }

  /// RFC 4231, cases 1 and 6: a key of usual length, and one that is longer than a block.
  @Test("HMAC-SHA-256 equals the examples of RFC 4231") func hmac() {
    func code(_ key: [UInt8], _ text: String) -> String {
      HMAC.hexadecimal(key.withUnsafeBytes { HMAC.sha256(text, keyed: $0) })
    }
    #expect(
      code(Array(repeating: 0x0B, count: 20), "Hi There")
        == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    #expect(
      code(Array(repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First")
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }

  private func credentials(_ id: String, _ secret: String) throws -> ObjectStoreCredentials {
    var secret = Array(secret.utf8)
    return try ObjectStoreCredentials(accessKeyId: id, wipingSecret: &secret)
  }
}
