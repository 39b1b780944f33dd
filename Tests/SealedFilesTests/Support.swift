import Foundation

@testable import SealedFiles

/// Where the tests write.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "/sealedfiles-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }
}

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

/// Numbers that follow from a seed.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBytes { buffer in
      for start in stride(from: 0, to: count, by: 8) {
        withUnsafeBytes(of: next()) {
          UnsafeMutableRawBufferPointer(rebasing: buffer[start..<min(start + 8, count)]).copyBytes(
            from: $0.prefix(count - start))
        }
      }
    }
    return bytes
  }
}

/// A seed that a failed test prints.
func freshSeed(_ test: String = #function) -> UInt64 {
  let seed = UInt64.random(in: 0..<1 << 48)
  print("\(test): seed \(seed)")
  return seed
}
