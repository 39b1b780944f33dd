import Foundation
import TestSupport

/// The files that users add, each known by its number. All but the smallest hold a text that must not be readable anywhere.
struct PhotoContent: Sendable {
  /// Whether every fourth file is a picture.
  private let hasPictures: Bool
  /// The number of random bytes of a file.
  private let size: @Sendable (inout Seeded) -> Int
  /// A storage limit in kilobytes that makes devices evict files.
  let greatestLimit: Int

  /// Files up to 3 MB, and pictures with a thumbnail.
  static let large = PhotoContent(hasPictures: true, greatestLimit: 4_000) { random in
    number(of: log(1_000)..<log(3_000_000), &random)
  }

  /// Files from nothing to some hundred kilobytes, and a few that are larger than a segment and than a part of an upload.
  static let small = PhotoContent(hasPictures: false, greatestLimit: 400) { random in
    switch random.number(0..<20) {
    case 0, 1: random.number(0..<3)
    case 2: (1 << 20) + random.number(0..<100_000)
    case 3, 4: random.number(60_000..<300_000)
    default: number(of: log(10)..<log(60_000), &random)
    }
  }

  private init(hasPictures: Bool, greatestLimit: Int, size: @escaping @Sendable (inout Seeded) -> Int) {
    (self.hasPictures, self.greatestLimit, self.size) = (hasPictures, greatestLimit, size)
  }

  /// As many small ones as large ones.
  private static func number(of logarithms: Range<Double>, _ random: inout Seeded) -> Int {
    Int(exp(Double.random(in: logarithms, using: &random)))
  }

  private static let picture = URL(filePath: packagePath("Tests/Data/rocket.jpg"))

  func bytes(_ number: UInt64) throws -> [UInt8] {
    var random = Seeded(number)
    let isPicture = hasPictures && number % 4 == 0
    var content = isPicture ? try [UInt8](Data(contentsOf: Self.picture)) : []
    let size = isPicture ? 16 : size(&random)
    if size > 2 { content += Array(Person.markerPrefix.utf8) }
    return content + random.bytes(size)
  }
}
