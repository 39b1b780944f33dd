import CipherSQL
import Foundation
import TestSupport
import VaultStore
import SyncEngine
import VaultKeys
import HTTPClient

/// A device for a while: a person writes and decides, and a worker syncs beside that.
/// `device NAME FOLDER URL SEED MILLISECONDS CLOCK-ERROR photos|data WORKLOAD`
enum DeviceProcess {
  static func run(_ words: [String]) async -> Int32 {
    guard words.count == 8, let seed = UInt64(words[3]), let time = Int(words[4]), let error = Int(words[5]),
      let workload = Workload.all.first(where: { $0.name == words[7] })
    else {
      return 2
    }
    do {
      let vault = try DeviceVault.open(words[1], workload, seed: seed)
      try CutTransfers.note(vault, words[1])
      try await work(
        vault, workload, words[0], words[1], words[2], seed, .milliseconds(time), error == 0 ? nil : error,
        Habits(words[6]))
      vault.close()
      return 0
    } catch {
      FileHandle.standardError.write(Data("\(String(reflecting: error))\n".utf8))
      return 1
    }
  }

  /// The most frequent action of a user.
  private struct Habits {
    /// How many of the steps have to do with photos.
    let photos: Double
    /// Between two steps, in milliseconds.
    let pause: Range<Int>

    /// - Parameter word: `photos` and `data` for devices with photos, `records` for others.
    init(_ word: String) {
      (photos, pause) =
        switch word {
        case "photos": (0.5, 20..<120)
        case "data": (0.05, 2..<40)
        default: (0, 2..<40)
        }
    }
  }

  private static func work(
    _ vault: Vault, _ workload: Workload, _ name: String, _ folder: String, _ url: String, _ seed: UInt64,
    _ time: Duration, _ error: Int?, _ habits: Habits
  ) async throws {
    var random = Seeded(seed)
    let worker = DeviceVault.worker(vault, try DeviceVault.remote(folder, vault, url: url))
    let runs = random.chance(0.5)
    let other = random.next()
    let end = ContinuousClock.now + time
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        do {
          while !Task.isCancelled {
            if runs { try await worker.run() } else { _ = try await worker.sync() }
            try await Task.sleep(for: .milliseconds(15))
          }
        } catch is CancellationError {
        }
      }
      group.addTask { try await live(vault, workload, name, folder, Seeded(other), until: end, error, habits) }
      try await group.next()
      group.cancelAll()
      try await group.waitForAll()
    }
  }

  private static func live(
    _ vault: Vault, _ workload: Workload, _ name: String, _ folder: String, _ seeded: Seeded,
    until end: ContinuousClock.Instant,
    _ clockError: Int?, _ habits: Habits
  ) async throws {
    let path = DeviceVault.journal(folder)
    let first = try Journal.next(path)
    let journal = try Journal(at: path)
    defer { journal.close() }
    var random = seeded
    var person = Person(
      vault: vault, workload: workload, journal: journal, name: name, clockError: clockError, forms: random.next(),
      random: Seeded(random.next()), transaction: first)
    var decisions = Decisions(
      vault: vault, journal: journal, name: name, random: Seeded(random.next()), transaction: first)
    var photographer = Photographer(
      vault: vault, workload: workload, journal: journal, name: name, camera: folder + "/camera", content: .large,
      random: Seeded(random.next()), transaction: first)
    while ContinuousClock.now < end {
      if random.chance(habits.photos) {
        photographer.transaction = person.transaction
        try photographer.act()
        person.transaction = photographer.transaction
        decisions.transaction = person.transaction
      } else if random.chance(0.9) {
        try person.write()
        decisions.transaction = person.transaction
      } else {
        try decisions.decideAny(&random)
        person.transaction = decisions.transaction
      }
      try await Task.sleep(for: .milliseconds(random.number(habits.pause)))
    }
  }
}

/// Where the vault of a device is, and how it is opened.
enum DeviceVault {
  static func vault(_ folder: String) -> String { folder + "/job.vault" }
  static func journal(_ folder: String) -> String { folder + "/journal" }
  private static func key(_ folder: String) -> String { folder + "/key" }
  private static func token(_ folder: String) -> String { folder + "/token" }

  static func create(_ folder: String, _ workload: Workload, token: String, sendsPlaintext: Bool, fetchesAll: Bool)
    throws
  {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let secret = UnlockSecret.keyFile(try KeyFile.create(at: key(folder)))
    try Data(token.utf8).write(to: URL(filePath: Self.token(folder)))
    let vault = try Vault.create(at: vault(folder), schemas: [try workload.schema()], secret: secret)
    defer { vault.close() }
    if fetchesAll { try vault.setPreference(.download, "all") }
    if sendsPlaintext { try vault.setPreference(.upload, "plaintext") }
  }

  /// Opens a vault that spreads retries by at most a hundredth of the usual time.
  static func open(_ folder: String, _ workload: Workload, seed: UInt64) throws -> Vault {
    let random = Locked(Seeded(seed))
    return try Vault.open(
      at: vault(folder), with: try secret(folder), schemas: [try workload.schema().schema],
      configuration: Configuration(
        environment: .system { random.withLock { Double.random(in: 0...0.01, using: &$0) } }))
  }

  private static func secret(_ folder: String) throws -> UnlockSecret {
    .keyFile(try KeyFile.read(at: key(folder)))
  }

  /// Copies the files of a closed vault, as a user does with a folder, to a device without a history of its own.
  static func copy(_ folder: String, to target: String) throws {
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
    for path in [vault, key, token] { try FileManager.default.copyItem(atPath: path(folder), toPath: path(target)) }
    try Data().write(to: URL(filePath: journal(target)))
  }

  /// Puts a vault back from a backup.
  static func restore(_ backup: String, in folder: String) throws {
    try FileManager.default.removeItem(atPath: vault(folder))
    try Vault.restore(backup, to: vault(folder), with: try secret(folder))
  }

  /// A remote with short timeouts, so that a hanging request does not delay a round.
  static func remote(
    _ folder: String, _ vault: Vault, url: String, patience: Double = 0.4
  ) throws -> FieldVaultRemote {
    let token = try String(contentsOfFile: token(folder), encoding: .utf8)
    try vault.setRemote(url: url, token: token)
    var limits = TransportLimits()
    limits.connectSeconds = 1
    limits.idleSeconds = patience
    limits.wholeSeconds = max(5, patience)
    return FieldVaultRemote(
      transport: HTTPTransport(address: try ServerAddress(url), limits: limits) { token })
  }

  static func worker(_ vault: Vault, _ remote: FieldVaultRemote) -> SyncWorker {
    SyncWorker(vault: vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
  }
}
