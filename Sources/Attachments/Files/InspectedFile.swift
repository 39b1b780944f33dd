import Pictures
import SyncModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The properties of the stored file, found while the content was encrypted.
package struct InspectedFile {
  /// The MIME type, detected from the content and not from the file name.
  var mimeType: String
  /// The size in pixels after the orientation is applied.
  var width: Int?, height: Int?
  /// The capture time as ISO 8601 text.
  var capturedAt: String?
  /// A small JPEG of the picture.
  package var thumbnail: [UInt8]?
  /// The reason why the picture could not be inspected or its location could not be removed; `nil` without a
  /// problem.
  var note: String?

  init(_ picture: Picture) {
    mimeType = picture.mimeType.isEmpty ? "application/octet-stream" : picture.mimeType
    (width, height) = (picture.width, picture.height)
    capturedAt = picture.capturedAt.map { Self.text($0) }
    (thumbnail, note) = (picture.thumbnail, picture.note)
  }

  /// Replaces the type and size by those of a recompressed picture that is stored instead of the original.
  mutating func store(_ bytes: [UInt8]) {
    let reader = PictureReader()
    bytes.withUnsafeBytes(reader.take)
    let stored = reader.finish()
    (mimeType, width, height) = (stored.mimeType, stored.width, stored.height)
  }

  /// Returns a capture time as UTC text. Without an offset in the file, the time is assumed to be in the time zone of
  /// this device.
  private static func text(_ time: CaptureTime) -> String {
    var seconds = time_t(time.localMilliseconds / 1000)
    var local = tm()
    _ = localtime_r(&seconds, &local)
    return WireTime.text(time.milliseconds(assuming: Int(local.tm_gmtoff) / 60))
  }
}
