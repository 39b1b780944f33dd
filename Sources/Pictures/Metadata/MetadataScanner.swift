/// Finds the EXIF block of a picture while it is read, and the properties that limit the work of decoding it.
final class MetadataScanner {
  private(set) var metadata = PictureMetadata()
  private let kind: PictureKind
  private let jpeg = JPEGParser()
  private var gif = GIFFrameCounter()
  private var reader: BlockReader
  private var isInBlock = false
  private var componentCount: UInt8 = 0
  /// The maximum length of an inspected block; a JPEG cannot contain a longer block.
  private static let longestBlock = 1 << 16

  init(_ kind: PictureKind) {
    self.kind = kind
    // After the file header, each chunk begins with its length and its name.
    reader = BlockReader(block: 8, after: kind == .png ? 8 : 12)
  }

  func take(_ bytes: UnsafeRawBufferPointer) {
    switch kind {
    case .jpeg:
      jpeg.take(bytes, see)
      (metadata.isCutShort, metadata.isBroken) = (!jpeg.hasEnded, jpeg.isBroken)
    case .png: reader.take(bytes, pngStep)
    case .webp: reader.take(bytes, webpStep)
    case .gif: gif.take(bytes, &metadata.frameCount)
    default: return
    }
  }

  private func see(_ event: JPEGParser.Event) {
    guard case .segment(let marker, let content) = event else { return }
    metadata.segmentCount += 1
    switch marker {
    case 0xe1: look(into: content)
    // A frame: precision, height, width and the number of components. C4, C8 and CC are tables.
    case 0xc0...0xcf where ![0xc4, 0xc8, 0xcc].contains(marker):
      if [0xc2, 0xc6, 0xca, 0xce].contains(marker) { metadata.isKeptWhole = true }
      componentCount = content.count > 5 ? content[5] : 0
    // A scan, which begins with the number of its components.
    case 0xda:
      metadata.scanCount += 1
      if content.first ?? 0 < componentCount { metadata.isKeptWhole = true }
    default: return
    }
  }

  private func pngStep(_ block: [UInt8]) -> BlockReader.NextBlock {
    if isInBlock {
      isInBlock = false
      look(into: MetadataSignature.exif + block)
      return .block(8, after: 4)
    }
    let count = block[..<4].reduce(0) { $0 << 8 | Int($1) }
    switch String(decoding: block[4...], as: UTF8.self) {
    case "IEND": return .nothing
    case "eXIf" where (1...Self.longestBlock).contains(count):
      isInBlock = true
      return .block(count)
    default: return .block(8, after: count + 4)
    }
  }

  private func webpStep(_ block: [UInt8]) -> BlockReader.NextBlock {
    if isInBlock {
      isInBlock = false
      look(into: block.starts(with: MetadataSignature.exif) ? block : MetadataSignature.exif + block)
      // Chunks begin at even offsets.
      return .block(8, after: block.count & 1)
    }
    let count = block[4...].reversed().reduce(0) { $0 << 8 | Int($1) }
    if block.starts(with: Array("ANMF".utf8)) { metadata.frameCount += 1 }
    guard block.starts(with: Array("EXIF".utf8)), (1...Self.longestBlock).contains(count) else {
      return .block(8, after: count + count & 1)
    }
    isInBlock = true
    return .block(count)
  }

  private func look(into block: [UInt8]) {
    if block.starts(with: MetadataSignature.exif) {
      SystemExif.read(Array(block.dropFirst(MetadataSignature.exif.count)), into: &metadata)
    } else if block.starts(with: MetadataSignature.xmp), block.contains(MetadataSignature.xmpLocation) {
      metadata.hasLocation = true
    }
  }
}

/// The signatures of metadata blocks.
enum MetadataSignature {
  static let exif = Array("Exif".utf8) + [0, 0]
  static let xmp = Array("http://ns.adobe.com/xap/1.0/".utf8) + [0]
  static let xmpLocation = Array("GPSLatitude".utf8)
}

extension [UInt8] {
  fileprivate func contains(_ part: [UInt8]) -> Bool {
    count >= part.count && (0...count - part.count).contains { self[$0...].starts(with: part) }
  }
}
