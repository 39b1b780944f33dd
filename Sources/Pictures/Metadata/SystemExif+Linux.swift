#if os(Linux) && Pictures
  import CExif

  /// Reads EXIF with libexif.
  enum SystemExif: ExifLibrary {
    static func read(_ block: [UInt8], into metadata: inout PictureMetadata) {
      withData(block) { data in
        let (main, camera, location) = (data.pointee.ifd.0, data.pointee.ifd.2, data.pointee.ifd.3)
        if let orientation = number(EXIF_TAG_ORIENTATION, in: main, data), (1...8).contains(orientation) {
          metadata.orientation = orientation
        }
        if let location, location.pointee.count > 0 { metadata.hasLocation = true }
        metadata.capturedAt =
          text(EXIF_TAG_DATE_TIME_ORIGINAL, in: camera).flatMap { time in
            CaptureTime(
              exif: time, fraction: text(EXIF_TAG_SUB_SEC_TIME_ORIGINAL, in: camera),
              offset: text(EXIF_TAG_OFFSET_TIME_ORIGINAL, in: camera))
          }
      }
    }

    /// Calls `body` with the parsed block, unless libexif cannot read any entry.
    private static func withData(_ block: [UInt8], _ body: (UnsafeMutablePointer<ExifData>) -> Void) {
      guard ExifDirectories.areBounded(in: block), let data = exif_data_new() else { return }
      defer { exif_data_unref(data) }
      let whole = MetadataSignature.exif + block
      exif_data_load_data(data, whole, UInt32(whole.count))
      guard let main = data.pointee.ifd.0, main.pointee.count > 0 else { return }
      body(data)
    }

    private static func number(
      _ tag: ExifTag, in content: UnsafeMutablePointer<ExifContent>?, _ data: UnsafeMutablePointer<ExifData>
    ) -> Int? {
      guard let entry = exif_content_get_entry(content, tag), entry.pointee.size >= 2,
        entry.pointee.format == EXIF_FORMAT_SHORT
      else { return nil }
      return Int(exif_get_short(entry.pointee.data, exif_data_get_byte_order(data)))
    }

    private static func text(_ tag: ExifTag, in content: UnsafeMutablePointer<ExifContent>?) -> String? {
      guard let entry = exif_content_get_entry(content, tag), let bytes = entry.pointee.data,
        entry.pointee.format == EXIF_FORMAT_ASCII
      else { return nil }
      let text = UnsafeBufferPointer(start: bytes, count: Int(entry.pointee.size)).prefix { $0 != 0 }
      return String(decoding: text, as: UTF8.self)
    }
  }
#endif
