import CipherSQL
import SchemaModel
import SealedFiles
import VaultKeys

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads an attachment in any order. Every byte that it returns is authenticated. Memory use does not grow with the
/// file.
///
/// - Threads: one thread at a time.
public final class AttachmentReader {
  /// The size of the content in bytes.
  public var byteCount: Int { file.byteCount }
  private let file: SealedFileReader
  private let digest: String?
  private let path: String

  package init(_ content: SealedContent, _ variant: AttachmentVariant, _ layout: VaultLayout) throws {
    file = try content.reader(variant, in: layout)
    digest = content.digests[variant]
    path = layout.attachmentFile(content.uuid, variant)
  }

  /// Returns the bytes of a range. Reads and authenticates only the chunks that contain the range.
  /// - Throws: ``VaultError`` with `damaged`, or `refused` for a range beyond the end.
  public func read(_ range: Range<Int>) throws -> [UInt8] {
    do throws(SealedFileError) {
      return try file.read(range)
    } catch {
      throw VaultError(error)
    }
  }

  /// Calls `body` with the whole content in parts. Each part is authenticated before the call. The digest of the
  /// record is compared at the end.
  /// - Throws: ``VaultError`` with `damaged`. The caller must then discard the parts that it received.
  public func forEachPart(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let found = ContentDigest()
    do {
      try file.forEachChunk { part in
        found.add(part)
        try body(part)
      }
    } catch let error as SealedFileError {
      throw VaultError(error)
    }
    guard let digest, digest != found.finish() else { return }
    throw VaultError(
      .damaged, "\(path) is intact but has a different digest than the record", remedy: .verifyAttachments)
  }
}
