import CipherSQL
import SealedFiles
import TestSupport
import Testing
import VaultKeys
import VaultStore

@testable import Attachments

/// Eviction makes room by removing thumbnails, and downloads bring them back where they fit. Together they must come to
/// an end.
@Suite struct EvictedThumbnailTests {
  private let bench: PhotoBench
  private let folder: TemporaryFolder
  private let contents = (0..<4).map(PhotoBench.content)

  init() throws {
    (bench, folder) = (try PhotoBench(), try TemporaryFolder())
    for content in contents { try bench.addPhoto(content, isTyped: false, version: 1) }
  }

  /// Downloads and evicts until nothing is due any more, or `limit` downloads were made.
  private func downloadAll(_ sizes: [Int64], room: Int64, atMost limit: Int) throws -> Int {
    let layout = VaultLayout(folder: folder.path)
    try bench.sync { try SyncSettings.set(.storageLimit, String(room), in: $0.connection) }
    for count in 0..<limit {
      guard let transfer = try bench.sync({ try $0.nextDownload(free: .max) }) else { return count }
      let index = try #require(contents.firstIndex(of: transfer.contentUuid))
      _ = try folder.write(
        "sealed", to: "attachments/\(transfer.contentUuid.suffix(2))/\(transfer.contentUuid).thumbnail.part")
      try bench.sync { transaction in
        try transaction.downloadCompleted(
          transfer, sealedBytes: sizes[index], received: String(repeating: "0", count: 64), in: layout)
        _ = try transaction.evict(downTo: room, keeping: transfer.contentUuid)
      }
    }
    return limit
  }

  private func used() throws -> Int {
    try bench.count("SELECT count(*) FROM AttachmentContent WHERE thumbnail = 'here'")
  }

  @Test("Thumbnails are not fetched and evicted in turn when the storage limit has room for some of them only")
  func endsForAnyLimit() throws {
    for seed in UInt64(1)...40 {
      var random = Seeded(seed)
      let sizes = contents.map { _ in Int64.random(in: 1...4000, using: &random) }
      let room = Int64.random(in: 0...8000, using: &random)
      try bench.sync { transaction in
        try transaction.connection.execute(
          "UPDATE AttachmentContent SET thumbnail = 'absent', thumbnailBytes = NULL, serverHasThumbnail = 0")
      }
      // Each thumbnail is fetched at most twice: it may be evicted before its size is stored.
      let downloads = try downloadAll(sizes, room: room, atMost: 100)
      #expect(downloads <= 2 * contents.count, "seed \(seed): sizes \(sizes), limit \(room)")
    }
  }

  @Test("A raised storage limit brings back evicted thumbnails")
  func comesBack() throws {
    let sizes: [Int64] = [1000, 1000, 1000, 1000]
    #expect(try downloadAll(sizes, room: 1500, atMost: 100) == 4)
    #expect(try used() == 1)
    #expect(try bench.database.read { try AttachmentUsage.bytesUsed(in: $0) } == 1000)
    #expect(try downloadAll(sizes, room: 4000, atMost: 100) == 2)
    #expect(try used() == 3)
    #expect(try downloadAll(sizes, room: 5000, atMost: 100) == 1)
    #expect(try used() == 4)
  }
}
