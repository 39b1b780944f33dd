import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `Upload-Checksum`: what the bytes of one request have to hash to.
struct UploadChecksum: Sendable {
  enum Algorithm: String, CaseIterable, Sendable {
    case sha1
    case sha256

    var byteCount: Int { self == .sha1 ? 20 : 32 }
  }

  let algorithm: Algorithm
  private let expected: [UInt8]

  /// The checksum of a request; nil when it has none.
  init?(_ request: Request) throws(HTTPProblem) {
    guard let text = request.headers["upload-checksum"] else { return nil }
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard let algorithm = words.first.flatMap({ Algorithm(rawValue: String($0)) }) else {
      throw .badRequest("Upload-Checksum begins with sha1 or sha256", field: "Upload-Checksum")
    }
    guard words.count == 2, let bytes = Data(base64Encoded: String(words[1])), bytes.count == algorithm.byteCount else {
      throw .badRequest("Upload-Checksum ends with the hash in base64", field: "Upload-Checksum")
    }
    self.algorithm = algorithm
    expected = Array(bytes)
  }

  /// Hashes what comes.
  func hasher() -> Hasher { algorithm == .sha1 ? .sha1(SHA1()) : .sha256(SHA256()) }

  /// Whether the bytes are those that were meant.
  func matches(_ hasher: Hasher) -> Bool { hasher.digest == expected }

  enum Hasher {
    case sha1(SHA1)
    case sha256(SHA256)

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
      switch self {
      case .sha1(var hash):
        hash.update(bytes)
        self = .sha1(hash)
      case .sha256(var hash):
        hash.add(bytes)
        self = .sha256(hash)
      }
    }

    var digest: [UInt8] {
      switch self {
      case .sha1(var hash): hash.finish()
      case .sha256(let hash): hash.digest
      }
    }
  }
}

extension HTTPProblem {
  static let checksumMismatch = HTTPProblem(
    460, "Checksum mismatch", "the bytes are not those of Upload-Checksum; the offset stays", field: "Upload-Checksum")
}
