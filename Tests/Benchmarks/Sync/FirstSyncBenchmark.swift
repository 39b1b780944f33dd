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
    let late = try await ServerFilling.fill("late", readings: sizes.firstSync, editsParents: true, in: data)
    let server = try ServerProcess(folder: data)
    defer { server.stop() }
    var syncs: [FirstSync] = []
    var lateSyncs: [FirstSync] = []
    var lean: (small: [FirstSync], large: [FirstSync], late: [FirstSync]) = ([], [], [])
    for round in 0..<rounds {
      let place = folder + "/device-\(round)"
      let (few, many) = (Access(url: server.url, token: small.token), Access(url: server.url, token: large.token))
      let parentsLast = Access(url: server.url, token: late.token)
      syncs.append(try DeviceProcess.firstSync(in: place, many))
      lateSyncs.append(try DeviceProcess.firstSync(in: place, parentsLast))
      // The default page cache is larger than the small store. With a small cache only the memory of sync itself can
      // grow.
      lean.small.append(try DeviceProcess.firstSync(in: place, few, cacheMiB: 4))
      lean.large.append(try DeviceProcess.firstSync(in: place, many, cacheMiB: 4))
      lean.late.append(try DeviceProcess.firstSync(in: place, parentsLast, cacheMiB: 4))
    }
    let lateRate = median(zip(lateSyncs, syncs).map { $1.processorSeconds / $0.processorSeconds })
    let lateTransaction = median(lateSyncs.map(\.transactionProcessorSeconds))
    let seconds = median(syncs.map(\.seconds))
    let longest = median(syncs.map(\.longestTransaction))
    let commit = median(syncs.map(\.durableCommit))
    let peaks = (small: peak(lean.small), large: peak(lean.large), late: peak(lean.late))
    return [
      Finding(
        "first sync of \(sizes.firstSync) records: \(format(rate(syncs), 0)) records for a second of the device's processor "
          + "(promised: at least 30000); \(format(seconds, 1)) s by the clock",
        holds: rate(syncs) >= 30_000),
      Finding(
        "its longest transaction: \(format(longest * 1000, 1)) ms; a durable commit of 4 KiB: \(format(commit * 1000, 2)) ms; "
          + "ratio \(format(longest / commit, 1))", holds: nil),
      Finding(
        "its most memory: \(format(peak(syncs), 1)) MiB; with a page cache of 4 MiB \(format(peaks.large, 1)) MiB, and with "
          + "\(sizes.firstSyncSmall) records \(format(peaks.small, 1)) MiB; "
          + "ratio \(format(peaks.large / peaks.small, 2)) (promised: flat, at most 1.15)",
        holds: peaks.large <= 1.15 * peaks.small),
      Finding(
        "first sync of as many whose parents were edited last: \(format(rate(lateSyncs), 0)) records for a second of the "
          + "device's CPU; \(format(lateRate, 2)) of the rate with the parents first (promised: at least 0.9)",
        holds: lateRate >= 0.9),
      Finding(
        "its longest write transaction: \(format(lateTransaction * 1000, 1)) ms of CPU time (promised: at most 50); with the "
          + "parents first \(format(median(syncs.map(\.transactionProcessorSeconds)) * 1000, 1)) ms",
        holds: lateTransaction <= 0.05),
      Finding(
        "its most memory: \(format(peak(lateSyncs), 1)) MiB; ratio to the parents first "
          + "\(format(peak(lateSyncs) / peak(syncs), 2)) (promised: at most 1.15); with a page cache of 4 MiB "
          + "\(format(peaks.late, 1)) MiB, ratio \(format(peaks.late / peaks.large, 2))",
        holds: peak(lateSyncs) <= 1.15 * peak(syncs)),
    ]
  }

  private func rate(_ syncs: [FirstSync]) -> Double {
    median(syncs.map { Double($0.records) / $0.processorSeconds })
  }

  private func peak(_ syncs: [FirstSync]) -> Double { median(syncs.map { Double($0.peakKiB) / 1024 }) }
}
