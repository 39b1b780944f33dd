import HTTPServer
import SealedFiles

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `Upload-Checksum`: the expected hash of the bytes of one request.
struct UploadChecksum: Sendable {
  enum Algorithm: String, CaseIterable, Sendable {
    case sha1
    case sha256

    var digest: ContentDigest.Algorithm { self == .sha1 ? .sha1 : .sha256 }
  }

  let algorithm: Algorithm
  private let expected: [UInt8]

  /// Parses the checksum of a request; `nil` if it has no checksum.
  init?(_ request: Request) throws(HTTPProblem) {
    guard let text = request.headers["upload-checksum"] else { return nil }
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard let algorithm = words.first.flatMap({ Algorithm(rawValue: String($0)) }) else {
      throw .badRequest("Upload-Checksum must begin with sha1 or sha256", field: "Upload-Checksum")
    }
    guard words.count == 2, let bytes = Data(base64Encoded: String(words[1])), bytes.count == algorithm.digest.byteCount
    else {
      throw .badRequest("Upload-Checksum must end with the hash in base64", field: "Upload-Checksum")
    }
    self.algorithm = algorithm
    expected = Array(bytes)
  }

  /// Returns a hasher for received bytes.
  func hasher() -> ContentDigest { ContentDigest(algorithm.digest) }

  /// Returns whether the bytes have the expected hash. No bytes can be added afterwards.
  func matches(_ hasher: ContentDigest) -> Bool { hasher.finishBytes() == expected }
}

extension HTTPProblem {
  static let checksumMismatch = HTTPProblem(
    460, "Checksum mismatch", "the bytes do not match Upload-Checksum; the offset is unchanged",
    field: "Upload-Checksum")
}
