import Pictures
import SyncModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What a look at a file that is taken in has told of what is stored.
struct InspectedFile {
  /// By content, not by name.
  var mimeType: String
  /// As the picture is seen, in pixels.
  var width: Int?, height: Int?
  /// When it was made, as text.
  var capturedAt: String?
  /// A small picture of it.
  var thumbnail: [UInt8]?
  /// Why there is no more to tell.
  var note: String?

  init(_ picture: Picture) {
    mimeType = picture.mimeType.isEmpty ? "application/octet-stream" : picture.mimeType
    (width, height) = (picture.width, picture.height)
    capturedAt = picture.capturedAt.map { Self.text($0) }
    (thumbnail, note) = (picture.thumbnail, picture.note)
  }

  /// The same when another picture is stored in its place.
  mutating func store(_ bytes: [UInt8]) {
    let reader = PictureReader()
    bytes.withUnsafeBytes(reader.take)
    let stored = reader.finish()
    (mimeType, width, height) = (stored.mimeType, stored.width, stored.height)
  }

  /// A camera that does not say how far it is from UTC is taken to be where this device is.
  private static func text(_ time: CaptureTime) -> String {
    var seconds = time_t(time.localMilliseconds / 1000)
    var local = tm()
    _ = localtime_r(&seconds, &local)
    return WireTime.text(time.milliseconds(assuming: Int(local.tm_gmtoff) / 60))
  }
}
