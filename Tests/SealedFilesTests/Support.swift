import Foundation
import TestSupport

@testable import SealedFiles

/// A key, a content's name and a place.
struct Sample {
  static let uuid = "01981c5e-7a00-7000-8000-0123456789ab"

  let path: String
  let key: SealingKey
  let identity: SealedFileIdentity

  init(_ folder: TemporaryFolder, _ name: String = "sample", uuid: String = Sample.uuid, keyByte: UInt8 = 0) throws {
    path = folder.file(name)
    var bytes = (0..<32).map { UInt8($0) ^ keyByte }
    key = try SealingKey(wiping: &bytes)
    identity = try SealedFileIdentity(contentUuid: uuid, variant: .full)
  }

  /// Writes the content in pieces of a size.
  @discardableResult
  func write(_ content: [UInt8], pieces: Int = 1 << 20) throws -> SealedFileSummary {
    try? FileManager.default.removeItem(atPath: path)
    let writer = try SealedFileWriter(creating: path, key: key, identity: identity)
    try feed(content, to: writer, pieces: pieces)
    return try writer.finish()
  }

  func feed(_ content: [UInt8], to writer: SealedFileWriter, pieces: Int) throws {
    for start in stride(from: writer.plainBytes, to: content.count, by: pieces) {
      try writer.append(Array(content[start..<min(start + pieces, content.count)]))
    }
  }

  func reader() throws -> SealedFileReader { try SealedFileReader(path, key: key, identity: identity) }

  /// All of the content, part by part.
  func content() throws -> [UInt8] {
    var content: [UInt8] = []
    try reader().forEachChunk { content += $0 }
    return content
  }

  var bytes: [UInt8] {
    get throws { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
  }

  func replace(with bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
}

/// The code of the error that `body` throws, or nil.
func code(of body: () throws -> Void) -> SealedFileError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? SealedFileError)?.code
  }
}
