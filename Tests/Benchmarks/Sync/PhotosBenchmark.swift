import CipherSQL
import Foundation
import VaultStore
import RestorationModel
import SyncEngine
import HTTPClient

/// Sending photos against the same bytes from a client that has no store, and data that are written meanwhile against the
/// same data with no photos on their way. By the clock on the wall: both wait for the server.
struct PhotosBenchmark {
  let folder: String
  let rounds: Int
  let count: Int
  private static let photoBytes = 2_000_000
  private static let operations = 1_000

  func findings() async throws -> [Finding] {
    var worker: [Double] = []
    var bare: [Double] = []
    var alone: [Double] = []
    var beside: [Double] = []
    for round in 0..<rounds {
      let place = folder + "/\(round)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      let access = try Self.access(place)
      defer { access.server.stop() }
      let vault = try BenchmarkVault.make(place + "/photos.vault")
      defer { vault.close() }
      try Self.attach(count, to: vault, place)
      worker.append(try await send(vault, access.access))
      bare.append(try await copy(vault, access.access))
      alone.append(try await pushData(place + "/alone", photos: 0, access.access))
      beside.append(try await pushData(place + "/beside", photos: count, access.access))
      try FileManager.default.removeItem(atPath: place)
    }
    let speed = median(zip(worker, bare).map { $1 / $0 })
    let delay = median(zip(beside, alone).map { $0 / $1 })
    let megabytes = Double(count * Self.photoBytes) / 1e6
    return [
      Finding(
        "sending \(count) photos of 2 MB: \(format(megabytes / median(worker), 0)) MB/s; the same bytes without a store: "
          + "\(format(megabytes / median(bare), 0)); speed \(format(speed, 2)) of it (promised: at least 0.7)",
        holds: speed >= 0.7),
      Finding(
        "\(Self.operations) operations while photos are sent: \(format(median(beside), 2)) s; alone "
          + "\(format(median(alone), 2)); \(format(delay, 2)) times (promised: at most 1.5)", holds: delay <= 1.5),
    ]
  }

  private static func access(_ place: String) throws -> (server: ServerProcess, access: Access) {
    let token = try ServerFilling.addUser("ada", in: place + "/server")
    let server = try ServerProcess(folder: place + "/server")
    return (server, Access(url: server.url, token: token))
  }

  /// Photos of bytes that nothing can compress and that are all different.
  private static func attach(_ count: Int, to vault: Vault, _ place: String) throws {
    let project = try vault.database.write { try $0.insert(Project(title: "House")).uuid }
    let entity = try vault.entities.entity("Project")
    var random = SystemRandomNumberGenerator()
    let path = place + "/photo.bin"
    for _ in 0..<count {
      let words = (0..<photoBytes / 8).map { _ in random.next() }
      try words.withUnsafeBytes { try Data($0).write(to: URL(filePath: path)) }
      _ = try vault.attach([path], to: entity, project)
    }
    if count > 0 { try FileManager.default.removeItem(atPath: path) }
  }

  private func send(_ vault: Vault, _ access: Access) async throws -> Double {
    let (worker, _) = try BenchmarkVault.worker(vault, access)
    // The records first, because only the files are measured.
    let notes = FirstFile()
    let events = worker.events
    let listening = Task {
      for await event in events { if case .file = event { notes.note() } }
    }
    defer { listening.cancel() }
    let start = ContinuousClock.now
    let report = try await worker.sync(RoundRequest(pulls: false))
    let end = ContinuousClock.now
    guard report.filesSent == count else { throw BenchmarkFailure("the photos were not sent: \(report)") }
    return (end - (notes.time ?? start)).inSeconds
  }

  /// One request for each file, read from the disk as it goes.
  private func copy(_ vault: Vault, _ access: Access) async throws -> Double {
    let transport = try access.transport()
    let files = try FileManager.default.subpathsOfDirectory(atPath: vault.layout.attachments).map {
      vault.layout.attachments + "/" + $0
    }.filter { (try? FileManager.default.attributesOfItem(atPath: $0)[.type] as? FileAttributeType) == .typeRegular }
    let start = ContinuousClock.now
    for path in files {
      let body = [UInt8](try Data(contentsOf: URL(filePath: path)))
      var request = HTTPRequest("/v1/files")
      request.method = "POST"
      request.headers = [
        ("Tus-Resumable", "1.0.0"), ("Upload-Length", String(body.count)),
        ("Content-Type", "application/offset+octet-stream"),
      ]
      request.upload = HTTPUpload(byteCount: Int64(body.count)) { offset, buffer in
        let part = body[Int(offset)...].prefix(buffer.count)
        part.withUnsafeBytes { buffer.copyMemory(from: $0) }
        return part.count
      }
      let response = try await transport.send(request)
      guard response.status == 201 else { throw BenchmarkFailure("the server returns \(response.status)") }
    }
    return (ContinuousClock.now - start).inSeconds
  }

  /// The latency of records that are written while a worker runs, with and without photos in transfer.
  private func pushData(_ place: String, photos: Int, _ access: Access) async throws -> Double {
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    let vault = try BenchmarkVault.make(place + "/data.vault")
    defer { vault.close() }
    try Self.attach(photos, to: vault, place)
    let (worker, _) = try BenchmarkVault.worker(vault, access)
    let notes = FirstFile()
    let events = worker.events
    let listening = Task {
      for await event in events { if case .file = event { notes.note() } }
    }
    let running = Task { try await worker.run(RoundRequest(pulls: false)) }
    while try await (photos > 0 ? notes.time == nil : Self.waiting(vault) > 0) {
      try await Task.sleep(for: .milliseconds(2))
    }
    let start = ContinuousClock.now
    try BenchmarkVault.write(Self.operations - 11, to: vault)
    while try await Self.waiting(vault) > 0 { try await Task.sleep(for: .milliseconds(2)) }
    let time = (ContinuousClock.now - start).inSeconds
    running.cancel()
    listening.cancel()
    _ = await running.result
    return time
  }

  private static func waiting(_ vault: Vault) async throws -> Int {
    try await vault.database.read { connection in
      try connection.fetchOne("SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Int.self) ?? 0
    }
  }
}

/// When the first part of a file was on the other side.
private final class FirstFile: Sendable {
  private let first = Locked<ContinuousClock.Instant?>(nil)

  var time: ContinuousClock.Instant? { first.withLock { $0 } }

  func note() { first.withLock { $0 = $0 ?? .now } }
}
