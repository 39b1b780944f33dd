import CSodium

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
  func hasher() -> Hasher {
    switch algorithm {
    case .sha1: .sha1(SHA1())
    case .sha256:
      .sha256(
        {
          var state = crypto_hash_sha256_state()
          _ = crypto_hash_sha256_init(&state)
          return state
        }())
    }
  }

  /// Whether the bytes are those that were meant.
  func matches(_ hasher: consuming Hasher) -> Bool { hasher.finish() == expected }

  enum Hasher {
    case sha1(SHA1)
    case sha256(crypto_hash_sha256_state)

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
      switch self {
      case .sha1(var hash):
        hash.update(bytes)
        self = .sha1(hash)
      case .sha256(var state):
        _ = crypto_hash_sha256_update(
          &state, bytes.bindMemory(to: UInt8.self).baseAddress, UInt64(bytes.count))
        self = .sha256(state)
      }
    }

    consuming func finish() -> [UInt8] {
      switch self {
      case .sha1(var hash): return hash.finish()
      case .sha256(var state):
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        _ = crypto_hash_sha256_final(&state, &digest)
        return digest
      }
    }
  }
}

extension HTTPProblem {
  static let checksumMismatch = HTTPProblem(
    460, "Checksum mismatch", "the bytes are not those of Upload-Checksum; the offset stays", field: "Upload-Checksum")
}
