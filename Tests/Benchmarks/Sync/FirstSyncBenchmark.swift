import Foundation

/// A device that has nothing fetches everything. Each measurement is a process of its own.
struct FirstSyncBenchmark {
  let folder: String
  let rounds: Int
  let sizes: SyncSizes

  func findings() async throws -> [Finding] {
    let data = folder + "/data"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let small = try await ServerFilling.fill("small", readings: sizes.firstSyncSmall, in: data)
    let large = try await ServerFilling.fill("large", readings: sizes.firstSync, in: data)
    let server = try ServerProcess(folder: data)
    defer { server.stop() }
    var syncs: [FirstSync] = []
    var lean: (small: [FirstSync], large: [FirstSync]) = ([], [])
    for round in 0..<rounds {
      let place = folder + "/device-\(round)"
      let (few, many) = (Access(url: server.url, token: small.token), Access(url: server.url, token: large.token))
      syncs.append(try DeviceProcess.firstSync(in: place, many))
      // The usual page cache is larger than the small store; with a small one only what sync itself holds can grow.
      lean.small.append(try DeviceProcess.firstSync(in: place, few, cacheMiB: 4))
      lean.large.append(try DeviceProcess.firstSync(in: place, many, cacheMiB: 4))
    }
    let rate = median(syncs.map { Double($0.records) / $0.processorSeconds })
    let seconds = median(syncs.map(\.seconds))
    let longest = median(syncs.map(\.longestTransaction))
    let commit = median(syncs.map(\.durableCommit))
    let peaks = (small: peak(lean.small), large: peak(lean.large))
    return [
      Finding(
        "first sync of \(sizes.firstSync) records: \(format(rate, 0)) records for a second of the device's processor "
          + "(promised: at least 30000); \(format(seconds, 1)) s by the clock",
        holds: rate >= 30_000),
      Finding(
        "its longest transaction: \(format(longest * 1000, 1)) ms; a durable commit of 4 KiB: \(format(commit * 1000, 2)) ms; "
          + "ratio \(format(longest / commit, 1))", holds: nil),
      Finding(
        "its most memory: \(format(peak(syncs), 1)) MiB; with a page cache of 4 MiB \(format(peaks.large, 1)) MiB, and with "
          + "\(sizes.firstSyncSmall) records \(format(peaks.small, 1)) MiB; "
          + "ratio \(format(peaks.large / peaks.small, 2)) (promised: flat, at most 1.15)",
        holds: peaks.large <= 1.15 * peaks.small),
    ]
  }

  private func peak(_ syncs: [FirstSync]) -> Double { median(syncs.map { Double($0.peakKiB) / 1024 }) }
}
