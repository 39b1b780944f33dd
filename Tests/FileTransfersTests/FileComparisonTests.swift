import SyncModel
import Testing
@testable import FileTransfers

@Suite struct FileComparisonTests {
  private typealias Held = FileDigestsResponse.Held
  private static let (file, content, other) = ("f", "c", "o")

  /// The server's copy, the digest in the record, and the expected comparison.
  private static let cases: [(name: String, held: Held?, digest: String?, comparison: FileComparison)] = [
    ("nothing", nil, content, .different),
    ("the encrypted file", Held(byteCount: 10, sha256: file, contentDigest: nil), content, .same(sha256: file)),
    (
      "the file without a digest in the record", Held(byteCount: 10, sha256: file, contentDigest: nil), nil,
      .same(sha256: file)
    ),
    ("another length", Held(byteCount: 11, sha256: file, contentDigest: nil), content, .different),
    ("the content as it is", Held(byteCount: 7, sha256: content, contentDigest: nil), content, .same(sha256: content)),
    (
      "the content encrypted anew", Held(byteCount: 10, sha256: other, contentDigest: content), content,
      .same(sha256: other)
    ),
    ("other bytes", Held(byteCount: 3, sha256: other, contentDigest: nil), content, .different),
    ("other bytes of the same length", Held(byteCount: 10, sha256: other, contentDigest: nil), content, .different),
    ("another content", Held(byteCount: 10, sha256: other, contentDigest: other), content, .different),
    (
      "other bytes without a digest in the record", Held(byteCount: 10, sha256: other, contentDigest: nil), nil,
      .different
    ),
    ("no digest", Held(byteCount: 10, sha256: nil, contentDigest: nil), content, .unknown),
  ]

  @Test("Only bytes with the digest of the file or of its content count as the same file")
  func comparisons() {
    for (name, held, digest, comparison) in Self.cases {
      #expect(FileComparison(held, byteCount: 10, sha256: Self.file, digest: digest) == comparison, "\(name)")
    }
  }
}
