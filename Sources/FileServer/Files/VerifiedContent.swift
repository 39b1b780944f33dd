import Platform
import SealedFiles
import ServerStorage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension ContentClaim {
  func digest(of variant: ContentName.Variant) -> String? { variant == .full ? digest : thumbnailDigest }

  /// Whether an encrypted file can be compared with the record.
  func canProve(_ variant: ContentName.Variant) -> Bool {
    key.count == SealingKey.byteCount && digest(of: variant) != nil
  }
}

/// A stored file, with the result of its comparison with the records of its content.
package protocol ComparedFile {
  /// The digest of the content that the comparison found; `nil` if the file was not compared, or could not be.
  var contentDigest: String? { get }
  /// Whether the bytes differ from the content that records name.
  var isRefuted: Bool { get }
  /// Whether the bytes are missing or have another length.
  var isMissing: Bool { get }
}

extension ComparedFile {
  /// Returns whether an upload may replace the file. A file in a newer format cannot be compared, and its version byte
  /// may also be damaged. It gives way only to a file that has the content of the records, so that nothing is lost.
  /// - Parameter proven: whether the upload has, or can be shown to have, the content of the records.
  func isReplaceable(proven: Bool) -> Bool { isMissing || isRefuted || (proven && contentDigest == nil) }
}

/// The digests of a file's bytes.
package struct VerifiedContent: Equatable, Sendable {
  /// SHA-256 of the stored bytes, in hexadecimal digits.
  package var sha256: String
  /// The digest of the content, if a record names it and the bytes match; `nil` if no record names a digest.
  package var contentDigest: String?
  /// Whether the bytes differ from the content that records name.
  package var isRefuted = false

  /// Creates the digests that are known without reading a file.
  package init(sha256: String, contentDigest: String?) { (self.sha256, self.contentDigest) = (sha256, contentDigest) }

  /// Compares a file with the data of its records. The file may have the content decrypted or encrypted.
  /// - Throws: ``SealedFileError`` if the file cannot be read.
  init(ofFileAt path: String, _ name: ContentName, sha256: String, claims: [ContentClaim]) throws {
    self.sha256 = sha256
    let told = claims.compactMap { claim in claim.digest(of: name.variant).map { (key: claim.key, digest: $0) } }
    guard !told.isEmpty else { return }
    if told.contains(where: { $0.digest == sha256 }) {
      contentDigest = sha256
      return
    }
    // Without a key, an encrypted file cannot be compared.
    let keyed = told.filter { $0.key.count == SealingKey.byteCount }
    guard !keyed.isEmpty else { return }
    let identity = try SealedFileIdentity(
      contentUuid: name.content, variant: name.variant == .full ? .full : .thumbnail)
    for claim in keyed {
      do throws(SealedFileError) {
        var key = claim.key
        let found = try SealedFileReader(path, key: try SealingKey(wiping: &key), identity: identity).verify()
        guard found == claim.digest else { continue }
        contentDigest = found
        return
      } catch {
        switch error.code {
        case .unreadable, .notFound, .outOfMemory: throw error
        // A device with a newer version can open the file, unless the version byte is damaged.
        case .newerFormat: return
        default: continue
        }
      }
    }
    isRefuted = true
  }

  /// Returns the SHA-256 of an open file, in hexadecimal digits.
  static func sha256(of descriptor: Int32) throws -> String {
    let digest = ContentDigest()
    var part = [UInt8](repeating: 0, count: 1 << 20)
    var offset: off_t = 0
    while true {
      let count = part.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, offset) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw AccountFiles.failure("read") }
      if count == 0 { return digest.finish() }
      part.withUnsafeBytes { digest.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      offset += off_t(count)
    }
  }

  /// Returns bytes in hexadecimal digits.
  static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// Writes stored files as their devices have them.
enum PlainContent {
  /// Writes the content of a stored file to a new file, decrypted if it is encrypted.
  /// - Returns: `false` if the key does not open the file.
  /// - Throws: `SealedFileError` if the file cannot be read; `FileError`.
  static func write(fileAt path: String, _ name: ContentName, key: [UInt8], to target: String) throws -> Bool {
    guard try SealedFileBeginning(ofFileAt: path) == .finished else {
      try Files.copy(path, to: target)
      return true
    }
    guard key.count == SealingKey.byteCount else { return false }
    let identity = try SealedFileIdentity(
      contentUuid: name.content, variant: name.variant == .full ? .full : .thumbnail)
    do {
      var key = key
      let reader = try SealedFileReader(path, key: try SealingKey(wiping: &key), identity: identity)
      let file = try OpenFile(creating: target)
      try reader.forEachChunk { try file.write($0) }
      try file.synchronize()
      return true
    } catch let error as SealedFileError where ![.unreadable, .notFound, .outOfMemory].contains(error.code) {
      try Files.removeTree(target)
      return false
    }
  }
}
