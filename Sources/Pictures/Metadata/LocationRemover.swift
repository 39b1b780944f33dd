/// The result of removing the location from a picture.
package enum LocationOutcome: Sendable, Equatable {
  /// The output contains no location.
  case clean
  /// The format is not supported, or the file is damaged. The output must be discarded.
  case unsure
}

/// Copies a picture without its location: without the GPS block of EXIF, XMP packets and all other camera data that
/// can contain a location. The pixel data stays identical.
///
/// Supports JPEG and PNG. For other kinds, use a recompressed picture, which has no location. Use from one thread
/// at a time.
package final class LocationRemover {
  /// Receives the bytes of the output.
  package typealias Output = (UnsafeRawBufferPointer) throws -> Void

  private var beginning: [UInt8] = []
  private var filter: (any LocationFilter)?
  private var hasBegun = false

  /// Creates a remover for one file.
  package init() {}

  /// Reads the next bytes of the file and writes the allowed parts.
  package func take(_ bytes: UnsafeRawBufferPointer, into output: Output) throws {
    guard !hasBegun else { return try pass(bytes, output) }
    let count = min(FileKind.prefixBytes - beginning.count, bytes.count)
    beginning += bytes[..<count]
    guard beginning.count == FileKind.prefixBytes else { return }
    try begin(output)
    try pass(UnsafeRawBufferPointer(rebasing: bytes[count...]), output)
  }

  /// Ends the file and returns whether the output is free of the location.
  package func finish(into output: Output) throws -> LocationOutcome {
    if !hasBegun { try begin(output) }
    guard let filter else { return .unsure }
    return filter.isComplete ? .clean : .unsure
  }

  private func begin(_ output: Output) throws {
    hasBegun = true
    filter =
      switch FileKind(beginning: beginning).picture {
      case .jpeg: JPEGLocationFilter()
      case .png: PNGLocationFilter()
      default: nil
      }
    try beginning.withUnsafeBytes { try pass($0, output) }
  }

  private func pass(_ bytes: UnsafeRawBufferPointer, _ output: Output) throws {
    try filter?.take(bytes, output)
  }
}

/// A filter for one format.
protocol LocationFilter: AnyObject {
  func take(_ bytes: UnsafeRawBufferPointer, _ output: LocationRemover.Output) throws

  /// Whether the file was understood completely, to its end.
  var isComplete: Bool { get }
}
