/// What is wanted of a picture.
package struct PictureOptions: Sendable {
  /// The box that the thumbnail has to fit into.
  package var thumbnailWidth = 200
  /// The box that the thumbnail has to fit into.
  package var thumbnailHeight = 300
  /// The quality of the thumbnail, 1 to 100.
  package var thumbnailQuality = 70
  /// The picture is compressed again, so that its longest side has at most so many pixels; nil to leave it as it is.
  package var recompressedSide: Int?
  /// The quality of the recompressed picture, 1 to 100.
  package var recompressedQuality = 85
  /// The most memory that decoding may take. A picture that would take more is kept as it is and not looked into.
  package var decodingBytes = 192 << 20

  /// A thumbnail of 200 by 300 in quality 70, and nothing else.
  package init() {}
}

/// What a file says about itself.
package struct Picture: Sendable {
  /// By content, never by name.
  package var mimeType: String
  /// As a person sees it; nil when it is no picture that could be read.
  package var width: Int?
  /// As a person sees it; nil when it is no picture that could be read.
  package var height: Int?
  /// When it was taken.
  package var capturedAt: CaptureTime?
  /// Whether it says where it was taken.
  package var hasLocation = false
  /// A JPEG that fits into the box; nil when it is no picture that could be read.
  package var thumbnail: [UInt8]?
  /// The picture as a smaller JPEG without any metadata, where that was wished.
  package var recompressed: [UInt8]?
  /// Why a file that begins like a picture is kept as it is, in words; nil when there is nothing to say.
  package var note: String?
}
