/// Looks into a file while it passes by: kind, size, time, thumbnail. In memory that does not grow with the file.
///
/// Nothing that stands in a file is an error: what cannot be read is a file like any other, with a note.
///
/// For one thread at a time.
package final class PictureReader {
  private let wishes: PictureOptions
  private var beginning: [UInt8] = []
  private var kind: FileKind?
  private var scanner: MetadataScanner?
  private var decoder: (any PictureDecoder)?
  private var note: String?

  /// A reader for one file.
  package init(_ wishes: PictureOptions = PictureOptions()) { self.wishes = wishes }

  /// Takes the next bytes of the file.
  package func take(_ bytes: UnsafeRawBufferPointer) {
    guard kind == nil else { return pass(bytes) }
    let count = min(FileKind.prefixBytes - beginning.count, bytes.count)
    beginning += bytes[..<count]
    guard beginning.count == FileKind.prefixBytes else { return }
    begin()
    pass(UnsafeRawBufferPointer(rebasing: bytes[count...]))
  }

  /// What the file says, at its end.
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

  /// Begins when it is known what the file is.
  private func begin() {
    let kind = FileKind(beginning: beginning)
    self.kind = kind
    guard let pictureKind = kind.picture else { return }
    scanner = MetadataScanner(pictureKind)
    decoder = systemDecoder(pictureKind, wishes)
    if decoder == nil { note = "pictures of the type \(kind.mimeType) cannot be read on this machine" }
    beginning.withUnsafeBytes(pass)
  }

  private func pass(_ bytes: UnsafeRawBufferPointer) {
    // First the scanner: what it finds decides how much memory decoding takes.
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
