/// The progress of the transfer of an attachment.
public struct FileProgress: Equatable, Sendable {
  /// Which one.
  public var name: FileName
  /// Whether it is an upload.
  public var isUpload: Bool
  /// Bytes that are on the other side.
  public var bytesDone: Int64
  /// Bytes of all of it; nil where that is not known.
  public var byteCount: Int64?
}

/// The events of a transfer queue.
package enum FileEvent: Sendable {
  /// A part of a file was transferred.
  case progress(FileProgress)
  /// A file was transferred completely.
  case moved(FileProgress)
}
