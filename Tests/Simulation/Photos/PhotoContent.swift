import Foundation
import TestSupport

/// Files that people take in, each known by its number: random bytes of many sizes, and every fourth a real picture with
/// something behind it. Each holds a text that must not be readable anywhere.
enum PhotoContent {
  private static let picture = URL(filePath: packagePath("Tests/Data/rocket.jpg"))

  static func bytes(_ number: UInt64) throws -> Data {
    var random = Seeded(number)
    let isPicture = number % 4 == 0
    var content = isPicture ? try Data(contentsOf: picture) : Data()
    content.append(Data(Person.markerPrefix.utf8))
    // As many small ones as large ones.
    let size = isPicture ? 16 : Int(exp(Double.random(in: log(1_000)..<log(3_000_000), using: &random)))
    let words = (0..<(size / 8 + 1)).map { _ in random.next() }
    words.withUnsafeBytes { content.append(contentsOf: $0.prefix(size)) }
    return content
  }
}
