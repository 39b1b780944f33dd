/// What a look at a file that is taken in has told.
struct PictureLook {
  /// By content, not by name.
  var mimeType = "application/octet-stream"
  /// As the picture is seen, in pixels.
  var width: Int?, height: Int?
  /// When it was made, in the form of the database.
  var capturedAt: String?
  /// A small picture of it.
  var thumbnail: [UInt8]?
  /// What is taken in in place of the file, where a person has asked for that.
  var replacement: [UInt8]?
  /// Why there is no more to tell.
  var note: String?
}

extension PictureLook {
  /// Looks at a file.
  static func at(_ source: AttachmentSource, _ settings: AttachmentSettings) throws -> PictureLook {
    PictureLook()
  }
}
