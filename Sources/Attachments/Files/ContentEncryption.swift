import Pictures
import Platform
import SchemaModel
import SealedFiles
import VaultKeys

/// Encrypts the files of one content.
package struct ContentEncryption {
  package let layout: VaultLayout
  package let contentUuid: String
  package let key: SealingKey

  package init(layout: VaultLayout, contentUuid: String, key: SealingKey) {
    (self.layout, self.contentUuid, self.key) = (layout, contentUuid, key)
  }

  /// An encrypted file on disk.
  package struct Sealed {
    package let part: PreparedAttachment.Part
    package let plainBytes: Int
  }

  package func makeFolder() throws { try layout.makeAttachmentFolder(of: contentUuid) }

  /// Encrypts the full file under the given settings and inspects the content in the same pass.
  ///
  /// Stores the recompressed picture if it is smaller, or if the location could not be removed from the original
  /// bytes.
  package func seal(
    _ source: AttachmentSource, _ settings: AttachmentSettings, _ progress: (Int, Int) throws -> Void
  ) throws -> (full: Sealed, look: InspectedFile) {
    var wishes = PictureOptions()
    wishes.recompressedSide = settings.longestSide
    let remover = settings.stripLocation == .off ? nil : LocationRemover()
    let reader = PictureReader(wishes)
    var outcome = LocationOutcome.clean
    var done = 0
    let full = try seal(.full) { writer in
      try source.forEachPart { part in
        reader.take(part)
        if let remover { try remover.take(part, into: writer.append) } else { try writer.append(part) }
        done += part.count
        try progress(done, source.byteCount)
      }
      if let remover { outcome = try remover.finish(into: writer.append) }
    }
    let picture = reader.finish()
    var look = InspectedFile(picture)
    if let smaller = picture.recompressed, smaller.count < full.plainBytes || outcome == .unsure {
      look.store(smaller)
      return (try replace(full) { try $0.append(smaller) }, look)
    }
    guard outcome == .unsure else { return (full, look) }
    return try sealWithoutPlace(source, full, look, settings.stripLocation)
  }

  /// Stores a file whose format the location remover does not support. A picture is compressed again, so that only
  /// its pixels remain. Any other file is stored unchanged with a note.
  /// - Throws: ``VaultError`` with `refused` when the settings require the location to be removed.
  private func sealWithoutPlace(
    _ source: AttachmentSource, _ useless: Sealed, _ look: InspectedFile, _ stripping: LocationStripping
  ) throws -> (full: Sealed, look: InspectedFile) {
    var look = look
    if look.width != nil {
      var wishes = PictureOptions()
      wishes.recompressedSide = 100_000
      let reader = PictureReader(wishes)
      try source.rewind()
      try source.forEachPart { reader.take($0) }
      if let pixels = reader.finish().recompressed {
        look.store(pixels)
        return (try replace(useless) { try $0.append(pixels) }, look)
      }
    }
    let reason = "the location cannot be removed from \(look.mimeType)"
    guard stripping != .required else {
      throw VaultError(
        .refused, reason, hint: "the setting strip-location is 'require'; 'true' stores the file with a note")
    }
    look.note = look.note.map { "\($0); \(reason)" } ?? reason
    try source.rewind()
    return (try replace(useless) { writer in try source.forEachPart(writer.append) }, look)
  }

  private func replace(_ sealed: Sealed, _ fill: (SealedFileWriter) throws -> Void) throws -> Sealed {
    try Files.removeTree(sealed.part.path)
    return try seal(.full, fill)
  }

  package func seal(_ variant: AttachmentVariant, _ fill: (SealedFileWriter) throws -> Void) throws -> Sealed {
    let path = layout.unfinishedAttachment(contentUuid, variant)
    let identity = try SealedFileIdentity(contentUuid: contentUuid, variant: variant.sealed)
    let writer = try SealedFileWriter(creating: path, key: key, identity: identity)
    do {
      try fill(writer)
      let summary = try writer.finish()
      return Sealed(
        part: PreparedAttachment.Part(path: path, sealedBytes: summary.sealedBytes, digest: summary.sha256),
        plainBytes: summary.plainBytes)
    } catch {
      writer.abandon()
      throw error
    }
  }

  /// Removes the unfinished files after a failure. Errors are ignored in favour of the original failure. The next
  /// sweep removes the remaining files.
  package func abandon() {
    for variant in AttachmentVariant.allCases {
      try? Files.removeTree(layout.unfinishedAttachment(contentUuid, variant))
    }
  }
}
