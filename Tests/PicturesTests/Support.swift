import Foundation
import TestSupport

@testable import Pictures

/// A real photo of `Tests/Data`.
func photo(_ name: String) throws -> [UInt8] {
  [UInt8](try Data(contentsOf: URL(fileURLWithPath: packagePath("Tests/Data/\(name)"))))
}

/// What a file says that comes in pieces of a size.
func look(_ file: [UInt8], _ wishes: PictureOptions = PictureOptions(), pieces: Int = 1 << 16) -> Picture {
  let reader = PictureReader(wishes)
  for start in stride(from: 0, to: file.count, by: pieces) {
    file[start..<min(start + pieces, file.count)].withUnsafeBytes { reader.take($0) }
  }
  return reader.finish()
}

/// What a remover gives of a file that comes in pieces of a size.
func withoutLocation(_ file: [UInt8], pieces: Int = 1 << 16) throws -> ([UInt8], LocationOutcome) {
  var output: [UInt8] = []
  let remover = LocationRemover()
  for start in stride(from: 0, to: file.count, by: pieces) {
    try file[start..<min(start + pieces, file.count)].withUnsafeBytes { bytes in
      try remover.take(bytes) { output += $0 }
    }
  }
  let outcome = try remover.finish { output += $0 }
  return (output, outcome)
}

/// A block of EXIF data, as cameras write it.
struct ExifMaker {
  var orientation = 1
  var time: String? = "2024:05:01 12:34:56"
  var fraction: String?
  var offset: String?
  var hasLocation = true
  var isBigEndian = false

  /// The latitude stands in these bytes: 52/1, 31/1, 4815/100.
  static let latitude: [Int] = [52, 1, 31, 1, 4815, 100]

  var block: [UInt8] {
    var camera: [(Int, Int, [UInt8], Int)] = []
    for (tag, text) in [(0x9003, time), (0x9011, offset), (0x9291, fraction)] {
      if let text { camera.append((tag, 2, Array(text.utf8) + [0], text.utf8.count + 1)) }
    }
    let location: [(Int, Int, [UInt8], Int)] = [
      (1, 2, Array("N".utf8) + [0], 2), (2, 5, Self.latitude.flatMap(long), 3),
    ]
    let mainCount = 2 + (hasLocation ? 1 : 0)
    let cameraStart = 8 + 2 + 12 * mainCount + 4
    let cameraBytes = directory(camera, at: cameraStart)
    let locationStart = cameraStart + cameraBytes.count
    var main: [(Int, Int, [UInt8], Int)] = [
      (0x112, 3, short(orientation), 1), (0x8769, 4, long(cameraStart), 1),
    ]
    if hasLocation { main.append((0x8825, 4, long(locationStart), 1)) }
    let mark = isBigEndian ? [0x4d, 0x4d, 0, 0x2a] : [0x49, 0x49, 0x2a, 0] as [UInt8]
    return mark + long(8) + directory(main, at: 8) + cameraBytes
      + (hasLocation ? directory(location, at: locationStart) : [])
  }

  private func directory(_ entries: [(Int, Int, [UInt8], Int)], at start: Int) -> [UInt8] {
    var bytes = short(entries.count)
    var behind: [UInt8] = []
    let end = start + 2 + 12 * entries.count + 4
    for (tag, type, value, count) in entries {
      bytes += short(tag) + short(type) + long(count)
      if value.count <= 4 {
        bytes += value + [UInt8](repeating: 0, count: 4 - value.count)
      } else {
        bytes += long(end + behind.count)
        behind += value + [UInt8](repeating: 0, count: value.count & 1)
      }
    }
    return bytes + long(0) + behind
  }

  private func short(_ number: Int) -> [UInt8] { bytes(number, 2) }
  private func long(_ number: Int) -> [UInt8] { bytes(number, 4) }

  private func bytes(_ number: Int, _ count: Int) -> [UInt8] {
    let little = (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    return isBigEndian ? little.reversed() : little
  }
}

/// A segment of a JPEG.
func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
  let length = content.count + 2
  return [0xff, marker, UInt8(length >> 8), UInt8(length & 0xff)] + content
}

/// A JPEG with segments behind its first two bytes.
func adding(_ segments: [UInt8]..., to jpeg: [UInt8]) -> [UInt8] {
  Array(jpeg[..<2]) + segments.joined() + Array(jpeg[2...])
}

func adding(_ exif: ExifMaker, to jpeg: [UInt8]) -> [UInt8] {
  adding(segment(0xe1, MetadataSignature.exif + exif.block), to: jpeg)
}

/// A chunk of a PNG, with its checksum.
func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
  let body = Array(name.utf8) + content
  var sum: UInt32 = 0xffff_ffff
  for byte in body {
    sum ^= UInt32(byte)
    for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xedb8_8320 : sum >> 1 }
  }
  return big(content.count) + body + big(Int(~sum))
}

func big(_ number: Int) -> [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }

/// The beginning of a PNG of a size: the signature and its first chunk.
func pngBeginning(_ width: Int, _ height: Int) -> [UInt8] {
  [0x89] + Array("PNG\r\n".utf8) + [0x1a, 0x0a] + chunk("IHDR", big(width) + big(height) + [8, 2, 0, 0, 0])
}

/// A whole PNG, all black.
func png(_ width: Int, _ height: Int, _ chunks: [UInt8]...) -> [UInt8] {
  let rows = [UInt8](repeating: 0, count: (width * 3 + 1) * height)
  // zlib without compression, in blocks of at most 65,535 bytes.
  var stream: [UInt8] = [0x78, 1]
  var (a, b) = (1, 0)
  for byte in rows { (a, b) = ((a + Int(byte)) % 65_521, (b + a + Int(byte)) % 65_521) }
  for start in stride(from: 0, to: rows.count, by: 65_535) {
    let end = min(start + 65_535, rows.count)
    let count = end - start
    stream += [end == rows.count ? 1 : 0, UInt8(count & 0xff), UInt8(count >> 8)]
    stream += [UInt8(~count & 0xff), UInt8(~count >> 8 & 0xff)] + rows[start..<end]
  }
  stream += big(b << 16 | a)
  return pngBeginning(width, height) + chunks.joined() + chunk("IDAT", stream) + chunk("IEND", [])
}

/// A GIF of one pixel that says it has another size.
func gif(_ width: Int, _ height: Int) -> [UInt8] {
  func short(_ number: Int) -> [UInt8] { [UInt8(number & 0xff), UInt8(number >> 8)] }
  return Array("GIF89a".utf8) + short(width) + short(height) + [0x80, 0, 0, 0, 0, 0, 255, 255, 255, 0x2c, 0, 0, 0, 0]
    + short(width) + short(height) + [0, 2, 2, 0x44, 1, 0, 0x3b]
}

/// A BMP of a size, with as many rows of pixels as are wanted.
func bmp(_ width: Int, _ height: Int, rows: Int) -> [UInt8] {
  func long(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
  let rowBytes = (width * 3 + 3) / 4 * 4
  return Array("BM".utf8) + long(54 + rowBytes * height) + long(0) + long(54) + long(40) + long(width) + long(height)
    + [1, 0, 24, 0] + [UInt8](repeating: 0, count: 24) + [UInt8](repeating: 99, count: rowBytes * rows)
}

/// The size of a JPEG by its frame header.
func jpegSize(_ jpeg: [UInt8]) -> [Int]? {
  var size: [Int]?
  jpeg.withUnsafeBytes { bytes in
    JPEGParser().take(bytes) { event in
      guard case .segment(let marker, let content) = event, (0xc0...0xc2).contains(marker) else { return }
      size = [3, 1].map { Int(content[$0]) << 8 | Int(content[$0 + 1]) }
    }
  }
  return size
}
