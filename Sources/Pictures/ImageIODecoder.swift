#if canImport(ImageIO) && Pictures
  import CoreGraphics
  import Foundation
  import ImageIO

  /// Returns the decoder for Apple systems, which supports every ``PictureKind``.
  func systemDecoder(_ kind: PictureKind, _ wishes: PictureOptions) -> (any PictureDecoder)? {
    ImageIODecoder(kind, wishes)
  }

  /// Decodes pictures with ImageIO. ImageIO needs the whole file, so the size of the file is limited as well as the
  /// number of pixels.
  private final class ImageIODecoder: PictureDecoder {
    private let kind: PictureKind
    private let wishes: PictureOptions
    private var file = Data()

    init(_ kind: PictureKind, _ wishes: PictureOptions) { (self.kind, self.wishes) = (kind, wishes) }

    func feed(_ bytes: UnsafeRawBufferPointer, _ metadata: PictureMetadata) throws(PictureProblem) {
      guard file.count + bytes.count <= DecodingPlan.longestCollected else {
        throw .tooLong(bytes: DecodingPlan.longestCollected)
      }
      file.append(contentsOf: bytes)
    }

    func finish(_ metadata: PictureMetadata, into picture: inout Picture) throws(PictureProblem) {
      let options = [kCGImageSourceShouldCache: false] as CFDictionary
      guard let source = CGImageSourceCreateWithData(file as CFData, options),
        CGImageSourceGetStatus(source) == .statusComplete,
        let properties = CGImageSourceCopyPropertiesAtIndex(source, 0, options) as? [CFString: Any],
        let width = properties[kCGImagePropertyPixelWidth] as? Int,
        let height = properties[kCGImagePropertyPixelHeight] as? Int
      else { throw .damaged }
      try DecodingPlan.checkWork(metadata, pixels: width * height)
      _ = try DecodingPlan(kind, width: width, height: height, isKeptWhole: metadata.isKeptWhole, wishes)
      picture.thumbnail = try jpeg(
        source, width, height, box: (wishes.thumbnailWidth, wishes.thumbnailHeight), wishes.thumbnailQuality, properties
      )
      if let side = wishes.recompressedSide {
        picture.recompressed = try jpeg(
          source, width, height, box: (side, side), wishes.recompressedQuality, properties)
      }
      let isTurned = Self.orientation(properties) >= 5
      (picture.width, picture.height) = isTurned ? (height, width) : (width, height)
      // For some kinds only ImageIO finds the metadata.
      var found = metadata
      SystemExif.read(properties, into: &found)
      (picture.capturedAt, picture.hasLocation) = (found.capturedAt, found.hasLocation)
    }

    private func jpeg(
      _ source: CGImageSource, _ width: Int, _ height: Int, box: (width: Int, height: Int), _ quality: Int,
      _ properties: [CFString: Any]
    ) throws(PictureProblem) -> [UInt8] {
      let isTurned = Self.orientation(properties) >= 5
      let (fittingWidth, fittingHeight) = DecodingPlan.fit(
        isTurned ? height : width, isTurned ? width : height, into: box)
      let options: [CFString: Any] = [
        kCGImageSourceCreateThumbnailFromImageAlways: true, kCGImageSourceCreateThumbnailWithTransform: true,
        kCGImageSourceThumbnailMaxPixelSize: max(fittingWidth, fittingHeight),
      ]
      let output = NSMutableData()
      guard let image = CGImageSourceCreateThumbnailAtIndex(source, 0, options as CFDictionary),
        let destination = CGImageDestinationCreateWithData(output, "public.jpeg" as CFString, 1, nil)
      else { throw .damaged }
      let compression = [kCGImageDestinationLossyCompressionQuality: Double(quality) / 100] as CFDictionary
      CGImageDestinationAddImage(destination, image, compression)
      guard CGImageDestinationFinalize(destination) else { throw .noMemory }
      return [UInt8](output as Data)
    }

    private static func orientation(_ properties: [CFString: Any]) -> Int {
      properties[kCGImagePropertyOrientation] as? Int ?? 1
    }
  }
#endif
