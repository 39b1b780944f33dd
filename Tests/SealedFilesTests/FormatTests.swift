import Foundation
import TestSupport
import Testing

@testable import SealedFiles

/// The test vectors of the format page, which another program made, open here.
@Suite struct FormatTests {
  private let folder: TemporaryFolder
  private let blocks: [String]

  init() throws {
    folder = try TemporaryFolder()
    let page = URL(fileURLWithPath: packagePath("Sources/SealedFiles/SealedFileFormat.md"))
    let parts = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```\n")
    blocks = parts.indices.filter { $0 % 2 == 1 }.map { parts[$0] }
    try #require(blocks.count == 4)
  }

  private func bytes(_ block: String) -> [UInt8] {
    let digits = Array(block.filter { $0 != "\n" })
    return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
  }

  @Test("The test vectors of the format specification can be opened") func theVectorsOpen() throws {
    let sentence = Array("A photo is safe the moment it is taken.\n".utf8)
    let thumbnail = try SealedFileIdentity(contentUuid: Sample.uuid, variant: .thumbnail)
    for (index, content) in [[], sentence, sentence].enumerated() {
      let sample = try Sample(folder, "vector-\(index)")
      try sample.replace(with: bytes(blocks[index]))
      let identity = index == 2 ? thumbnail : sample.identity
      let reader = try SealedFileReader(sample.path, key: sample.key, identity: identity)
      #expect(try reader.read(0..<reader.byteCount) == content)
    }
  }

  @Test("Derived segment keys equal those of the format specification") func theKeysAreThoseOfThePage() throws {
    let lines = blocks[3].split(separator: "\n").map { bytes(String($0)) }
    let key = try Sample(folder).key
    for (number, expected) in zip([0, 1, 258], lines) {
      #expect(try key.segmentKey(number, of: .full).withUnsafeBytes { Array($0) } == expected)
      #expect(try key.segmentKey(number, of: .thumbnail).withUnsafeBytes { Array($0) } != expected)
    }
  }
}
