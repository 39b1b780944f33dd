/// The progress of the transfer of an attachment.
public struct FileProgress: Equatable, Sendable {
  /// The file of the attachment.
  public var name: FileName
  /// Whether it is an upload.
  public var isUpload: Bool
  /// The number of transferred bytes.
  public var bytesDone: Int64
  /// The total number of bytes; `nil` if unknown.
  public var byteCount: Int64?
}

/// The events of a transfer queue.
package enum FileEvent: Sendable {
  /// A part of a file was transferred.
  case progress(FileProgress)
  /// A file was transferred completely.
  case moved(FileProgress)
}
