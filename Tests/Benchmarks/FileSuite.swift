import BenchmarkFloor
import Foundation
import SealedFiles

/// Encrypting and decrypting a large file, compared with libsodium alone on the same bytes, in wall time: both sides
/// use the disk, and the background thread of a writer counts.
final class FileSuite {
  private let rounds: Int
  private let byteCount: Int
  private let source: String
  private let sealed: String
  private let floorSealed: String
  private let floorKey: [UInt8] = (0..<32).map { UInt8($0 * 3 + 1) }
  private let key: SealingKey
  private let identity: SealedFileIdentity

  /// Makes the file that is encrypted, of bytes that nothing can compress.
  init(folder: String, rounds: Int, byteCount: Int) throws {
    let folder = folder + "/files"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    (self.rounds, self.byteCount) = (rounds, byteCount)
    (source, sealed, floorSealed) = (folder + "/source", folder + "/sealed", folder + "/floor")
    var bytes = floorKey
    key = try SealingKey(wiping: &bytes)
    identity = try SealedFileIdentity(contentUuid: "01981c5e-7a00-7000-8000-0123456789ab", variant: .full)
    try Self.fill(source, byteCount)
  }

  /// 1 GiB, or less where the disk has no room for three such files and some more.
  static func usualMiB(in folder: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfFileSystem(forPath: folder)
    let free = (attributes[.systemFreeSize] as? Int ?? 0) >> 20
    return free >= 6 << 10 ? 1024 : max(16, min(256, free / 8))
  }

  private static func fill(_ path: String, _ byteCount: Int) throws {
    guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
    else { throw Floor.Failure(description: "cannot make \(path)") }
    defer { try? file.close() }
    var random = SystemRandomNumberGenerator()
    let part = Data((0..<1 << 17).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } })
    for start in stride(from: 0, to: byteCount, by: part.count) {
      try file.write(contentsOf: part.prefix(byteCount - start))
    }
    try file.synchronize()
  }

  func findings() throws -> [Finding] {
    var sealing: [(ours: Double, floor: Double)] = []
    var opening: [(ours: Double, floor: Double)] = []
    var memory: [Double] = []
    // Code that runs for the first time is loaded, and is no memory beyond the program.
    try seal(byteCount: 10)
    try open(byteCount: 10)
    let beginning = try PeakMemory()
    for round in 0...rounds {
      let sealed = try turns(round, { try seal(byteCount: byteCount) }, { try sealFloor() })
      let opened = try turns(round, { try open(byteCount: byteCount) }, { try openFloor() })
      let pure = seconds { _ = floor_seal_memory(Int64(byteCount), floorKey) }
      // The first round fills the caches.
      guard round > 0 else { continue }
      sealing.append(sealed)
      opening.append(opened)
      memory.append(pure)
    }
    let grown = try beginning.grownKiB()
    return [
      Finding("A file of \(byteCount >> 20) MiB, \(rounds) rounds, MB/s by the clock (medians)", holds: nil),
      finding("encrypting, with SHA-256 and sync", sealing), finding("decrypting", opening),
      Finding("libsodium's stream on memory alone: \(rate(memory)) MB/s", holds: nil),
      Finding(
        "memory beyond the program: \(format(Double(grown) / 1024, 1)) MiB (promised: less than 16)",
        holds: grown < 16 << 10),
    ]
  }

  private func finding(_ name: String, _ times: [(ours: Double, floor: Double)]) -> Finding {
    let ratio = median(times.map { $0.floor / $0.ours })
    return Finding(
      "\(name): \(rate(times.map(\.ours))); libsodium in C, file to file: \(rate(times.map(\.floor))); "
        + "\(format(ratio, 2)) of it (promised: at least 0.8)", holds: ratio >= 0.8)
  }

  private func rate(_ seconds: [Double]) -> String { format(Double(byteCount) / median(seconds) / 1e6, 0) }

  /// Both sides; the one that begins alternates between rounds.
  private func turns(
    _ round: Int, _ ours: () throws -> Void, _ floor: () throws -> Void
  ) throws -> (ours: Double, floor: Double) {
    if round.isMultiple(of: 2) { return (try seconds(ours), try seconds(floor)) }
    let floor = try seconds(floor)
    return (try seconds(ours), floor)
  }

  private func seconds(_ body: () throws -> Void) rethrows -> Double {
    let duration = try ContinuousClock().measure(body).components
    return Double(duration.seconds) + Double(duration.attoseconds) / 1e18
  }

  private func seal(byteCount: Int) throws {
    if FileManager.default.fileExists(atPath: sealed) { try FileManager.default.removeItem(atPath: sealed) }
    let input = Foundation.open(source, O_RDONLY)
    defer { close(input) }
    let writer = try SealedFileWriter(creating: sealed, key: key, identity: identity)
    var left = byteCount
    try writer.append(reading: { room in
      let count = read(input, room.baseAddress, min(room.count, left))
      left -= count
      guard count >= 0 else { throw Floor.Failure(description: "cannot read \(source)") }
      return count
    })
    guard try writer.finish().plainBytes == byteCount else { throw Floor.Failure(description: "bytes are missing") }
  }

  private func sealFloor() throws {
    if FileManager.default.fileExists(atPath: floorSealed) { try FileManager.default.removeItem(atPath: floorSealed) }
    guard floor_seal_file(source, floorSealed, floorKey) == 0 else {
      throw Floor.Failure(description: "the C floor cannot encrypt \(source)")
    }
  }

  private func open(byteCount: Int) throws {
    var count = 0
    try SealedFileReader(sealed, key: key, identity: identity).forEachChunk { count += $0.count }
    guard count == byteCount else { throw Floor.Failure(description: "bytes are missing") }
  }

  private func openFloor() throws {
    var count: Int64 = 0
    guard floor_open_file(floorSealed, floorKey, &count) == 0, count == Int64(byteCount) else {
      throw Floor.Failure(description: "the C floor cannot decrypt \(floorSealed)")
    }
  }
}
