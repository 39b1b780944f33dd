/// The options for inspecting a picture.
package struct PictureOptions: Sendable {
  /// The maximum width of the thumbnail in pixels.
  package var thumbnailWidth = 200
  /// The maximum height of the thumbnail in pixels.
  package var thumbnailHeight = 300
  /// The JPEG quality of the thumbnail, 1 to 100.
  package var thumbnailQuality = 70
  /// The maximum length in pixels of the longest side of a recompressed picture; `nil` creates no recompressed
  /// picture.
  package var recompressedSide: Int?
  /// The JPEG quality of the recompressed picture, 1 to 100.
  package var recompressedQuality = 85
  /// The maximum memory for decoding, in bytes. A picture that needs more is stored without being decoded.
  package var decodingBytes = 192 << 20

  /// Creates options for a thumbnail of at most 200 by 300 pixels in quality 70, without a recompressed picture.
  package init() {}
}

/// The result of inspecting a file.
package struct Picture: Sendable {
  /// The MIME type, detected from the content and not from the file name.
  package var mimeType: String
  /// The width after the orientation is applied; `nil` if the file is not a readable picture.
  package var width: Int?
  /// The height after the orientation is applied; `nil` if the file is not a readable picture.
  package var height: Int?
  /// The capture time.
  package var capturedAt: CaptureTime?
  /// Whether the metadata contains a location.
  package var hasLocation = false
  /// A JPEG that fits into the box of the options; `nil` if the file is not a readable picture.
  package var thumbnail: [UInt8]?
  /// A smaller JPEG without metadata other than a colour profile, if the options request it.
  package var recompressed: [UInt8]?
  /// The reason why a file that begins like a picture was not decoded; `nil` without a problem.
  package var note: String?
}
