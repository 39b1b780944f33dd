/// Inspects a file while it is read: type, size, capture time, thumbnail. Memory use is bounded and independent of
/// the size of the file.
///
/// The content of a file never causes an error. An unreadable picture is treated like any other file and gets a
/// note.
///
/// Use from one thread at a time.
package final class PictureReader {
  private let wishes: PictureOptions
  private var beginning: [UInt8] = []
  private var kind: FileKind?
  private var scanner: MetadataScanner?
  private var decoder: (any PictureDecoder)?
  private var note: String?

  /// Creates a reader for one file.
  package init(_ wishes: PictureOptions = PictureOptions()) { self.wishes = wishes }

  /// Reads the next bytes of the file.
  package func take(_ bytes: UnsafeRawBufferPointer) {
    guard kind == nil else { return pass(bytes) }
    let count = min(FileKind.prefixBytes - beginning.count, bytes.count)
    beginning += bytes[..<count]
    guard beginning.count == FileKind.prefixBytes else { return }
    begin()
    pass(UnsafeRawBufferPointer(rebasing: bytes[count...]))
  }

  /// Returns the result at the end of the file.
  package func finish() -> Picture {
    if kind == nil { begin() }
    var picture = Picture(mimeType: kind?.mimeType ?? "")
    let metadata = scanner?.metadata ?? PictureMetadata()
    (picture.capturedAt, picture.hasLocation) = (metadata.capturedAt, metadata.hasLocation)
    if let decoder {
      do throws(PictureProblem) {
        if metadata.isCutShort { throw .damaged }
        try decoder.finish(metadata, into: &picture)
      } catch {
        note = error.note
      }
    }
    picture.note = note
    return picture
  }

  /// Starts the inspection after the type is known.
  private func begin() {
    let kind = FileKind(beginning: beginning)
    self.kind = kind
    guard let pictureKind = kind.picture else { return }
    scanner = MetadataScanner(pictureKind)
    decoder = systemDecoder(pictureKind, wishes)
    if decoder == nil { note = Self.unreadable(kind) }
    beginning.withUnsafeBytes(pass)
  }

  private static func unreadable(_ kind: FileKind) -> String {
    #if Pictures
      "this machine cannot decode pictures of the type \(kind.mimeType)"
    #else
      "this program was built without picture support; the photo has no thumbnail"
    #endif
  }

  private func pass(_ bytes: UnsafeRawBufferPointer) {
    // The scanner comes first, because its findings determine the memory that decoding needs.
    scanner?.take(bytes)
    guard let decoder else { return }
    do throws(PictureProblem) {
      try decoder.feed(bytes, scanner?.metadata ?? PictureMetadata())
    } catch {
      note = error.note
      self.decoder = nil
    }
  }
}
