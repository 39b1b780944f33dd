#if os(Linux) && Pictures
  import CPixbuf

  /// Returns the decoder for Linux, or `nil` if this machine cannot decode the kind.
  func systemDecoder(_ kind: PictureKind, _ wishes: PictureOptions) -> (any PictureDecoder)? {
    PixbufDecoder(kind, wishes)
  }

  /// Decodes pictures with gdk-pixbuf. The library receives only supported kinds, decodes while it reads, and
  /// reports the size before it allocates memory for the pixels.
  private final class PixbufDecoder: PictureDecoder {
    private let kind: PictureKind
    private let wishes: PictureOptions
    private let decoder = UnsafeMutablePointer<cpixbuf_decoder>.allocate(capacity: 1)
    private var isReading: Bool
    private var isKeptWhole = false
    private var problem: PictureProblem?
    private var size: (width: Int, height: Int)?
    private var fedBytes = 0

    init?(_ kind: PictureKind, _ wishes: PictureOptions) {
      (self.kind, self.wishes) = (kind, wishes)
      decoder.initialize(to: cpixbuf_decoder())
      isReading = false
      let decide: cpixbuf_decide = { context, width, height, targetWidth, targetHeight in
        guard let context, let targetWidth, let targetHeight else { return 1 }
        let decoder = Unmanaged<PixbufDecoder>.fromOpaque(context).takeUnretainedValue()
        guard let plan = decoder.plan(Int(width), Int(height)) else { return 1 }
        (targetWidth.pointee, targetHeight.pointee) = (Int32(plan.width), Int32(plan.height))
        return 0
      }
      guard cpixbuf_begin(decoder, kind.loaderName, decide, Unmanaged.passUnretained(self).toOpaque()) != 0 else {
        return nil
      }
      isReading = true
    }

    deinit {
      if isReading { _ = cpixbuf_end(decoder, 0) }
      decoder.deallocate()
    }

    func feed(_ bytes: UnsafeRawBufferPointer, _ metadata: PictureMetadata) throws(PictureProblem) {
      isKeptWhole = metadata.isKeptWhole
      try DecodingPlan.checkWork(metadata, pixels: size.map { $0.width * $0.height } ?? 0)
      fedBytes += bytes.count
      guard kind.isDecodedInPassing || fedBytes <= DecodingPlan.longestCollected else {
        throw .tooLong(bytes: DecodingPlan.longestCollected)
      }
      guard cpixbuf_feed(decoder, bytes.baseAddress, bytes.count) != 0 else { throw problem ?? .damaged }
    }

    func finish(_ metadata: PictureMetadata, into picture: inout Picture) throws(PictureProblem) {
      isReading = false
      guard let decoded = cpixbuf_end(decoder, 1) else { throw problem ?? .damaged }
      defer { cpixbuf_release(decoded) }
      // libtiff applies the mirroring of a TIFF's orientation but not the rotation. gdk-pixbuf reports the
      // remaining orientation.
      let orientation = kind == .tiff ? Int(cpixbuf_orientation(decoded)) : metadata.orientation
      guard let size, let upright = cpixbuf_upright(decoded, Int32(orientation)) else { throw .noMemory }
      defer { cpixbuf_release(upright) }
      picture.thumbnail = try jpeg(
        upright, into: (wishes.thumbnailWidth, wishes.thumbnailHeight), quality: wishes.thumbnailQuality,
        profile: cpixbuf_rgb_profile(decoded, Self.longestThumbnailProfile))
      if let side = wishes.recompressedSide {
        picture.recompressed = try jpeg(
          upright, into: (side, side), quality: wishes.recompressedQuality,
          profile: cpixbuf_rgb_profile(decoded, Self.longestProfile))
      }
      let isTurned = orientation >= 5
      (picture.width, picture.height) = isTurned ? (size.height, size.width) : size
    }

    /// The maximum length in base64 of a colour profile that a thumbnail carries. The profiles of wide-gamut
    /// cameras have about 1 kB.
    private static let longestThumbnailProfile = 8 << 10
    /// The maximum length in base64 of a colour profile that a recompressed picture carries.
    private static let longestProfile = 4 << 20

    private func plan(_ width: Int, _ height: Int) -> DecodingPlan? {
      do throws(PictureProblem) {
        let plan = try DecodingPlan(kind, width: width, height: height, isKeptWhole: isKeptWhole, wishes)
        size = (width, height)
        return plan
      } catch {
        problem = error
        return nil
      }
    }

    private func jpeg(
      _ picture: OpaquePointer, into box: (Int, Int), quality: Int, profile: UnsafePointer<CChar>?
    ) throws(PictureProblem) -> [UInt8] {
      let (width, height) = DecodingPlan.fit(
        Int(gdk_pixbuf_get_width(picture)), Int(gdk_pixbuf_get_height(picture)), into: box)
      guard let scaled = cpixbuf_opaque(picture, Int32(width), Int32(height)) else { throw .noMemory }
      defer { cpixbuf_release(scaled) }
      var count = 0
      guard let bytes = cpixbuf_jpeg(scaled, String(quality), profile, &count) else { throw .noMemory }
      defer { g_free(bytes) }
      return Array(UnsafeRawBufferPointer(start: bytes, count: count))
    }
  }

  extension PictureKind {
    /// The name of the loader in gdk-pixbuf.
    fileprivate var loaderName: String {
      switch self {
      case .heic: "heif/avif"
      case .avif: "heif/avif"
      default: rawValue
      }
    }

    /// Whether the library decodes the kind without collecting the whole file in memory.
    fileprivate var isDecodedInPassing: Bool { [.jpeg, .png, .bmp].contains(self) }
  }
#endif
