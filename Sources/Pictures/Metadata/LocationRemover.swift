/// What became of the wish to remove where a picture was taken.
package enum LocationOutcome: Sendable, Equatable {
  /// What came out says nothing about the place.
  case clean
  /// It is not a picture whose metadata is understood, or it is damaged. What came out is of no use.
  case unsure
}

/// Passes a picture on without where it was taken: EXIF's GPS block, XMP packets, and what else a camera adds that can
/// hold a place. The pixels stay as they are, to the byte.
///
/// JPEG and PNG are understood; of other kinds a recompressed picture has no metadata. For one thread at a time.
package final class LocationRemover {
  /// Receives what is passed on.
  package typealias Output = (UnsafeRawBufferPointer) throws -> Void

  private var beginning: [UInt8] = []
  private var filter: (any LocationFilter)?
  private var hasBegun = false

  /// A remover for one file.
  package init() {}

  /// Takes the next bytes of the file and gives on what may stay.
  package func take(_ bytes: UnsafeRawBufferPointer, into output: Output) throws {
    guard !hasBegun else { return try pass(bytes, output) }
    let count = min(FileKind.prefixBytes - beginning.count, bytes.count)
    beginning += bytes[..<count]
    guard beginning.count == FileKind.prefixBytes else { return }
    try begin(output)
    try pass(UnsafeRawBufferPointer(rebasing: bytes[count...]), output)
  }

  /// Ends the file.
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

/// The filter of one format.
protocol LocationFilter: AnyObject {
  func take(_ bytes: UnsafeRawBufferPointer, _ output: LocationRemover.Output) throws

  /// Whether everything was understood to the end.
  var isComplete: Bool { get }
}
