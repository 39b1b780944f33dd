import Testing

@testable import SealedFiles

/// The published examples of FIPS 180-4, in parts of several lengths.
@Suite struct ContentDigestTests {
  private static let alphabet = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"

  @Test(
    "Digests in pieces of any size equal the published examples",
    arguments: [
      (ContentDigest.Algorithm.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
      (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
      (.sha1, alphabet, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
      (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (.sha256, alphabet, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
    ])
  func publishedExamples(_ algorithm: ContentDigest.Algorithm, _ text: String, _ expected: String) {
    let bytes = Array(text.utf8)
    for step in [1, 7, 63, 64, 65] {
      let digest = ContentDigest(algorithm)
      for start in stride(from: 0, to: bytes.count, by: step) {
        bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { digest.add($0) }
      }
      #expect(digest.finish() == expected)
    }
  }
}
