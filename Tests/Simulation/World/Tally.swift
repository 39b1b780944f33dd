import CipherSQL
import Foundation
import Glibc

/// The numbers of a campaign.
struct Tally {
  var rounds = 0
  var devices: Set<Int> = []
  private var versions = 0
  private var acknowledgements = 0
  private var conflicts = 0
  private var kills = (devices: 0, server: 0)
  private var diskFailures = 0
  private var photos = 0
  private var lostPhotos = 0
  private var fileRequests = 0
  private var cut = (uploads: 0, downloads: 0, server: 0)
  private var faults: [Fault: Int] = [:]
  private var incidents = (copies: 0, vaults: 0, servers: 0, epochs: 0)
  var workloads: [String: Int] = [:]

  var line: String {
    "\(acknowledgements) operations acknowledged, \(versions) versions, \(conflicts) conflicts, "
      + "\(kills.devices) devices and \(kills.server) servers killed, \(diskFailures) disks failing; "
      + "\(photos) photos, \(cut.uploads) uploads and \(cut.downloads) downloads cut by the "
      + "death of a device, \(cut.server) servers killed with a file on its way; \(incidents.copies) vaults copied, \(incidents.vaults) vaults "
      + "and \(incidents.servers) servers restored, \(incidents.epochs) new epochs; all holds"
  }

  mutating func add(_ world: World) throws {
    kills.devices += world.kills.devices
    kills.server += world.kills.server
    diskFailures += world.diskFailures
    fileRequests += world.proxy.disturbedFiles
    cut.server += world.killsInTransfer
    lostPhotos += world.lostPhotos
    incidents.copies += world.incidents.copies
    incidents.vaults += world.incidents.vaultRestores
    incidents.servers += world.incidents.serverRestores
    incidents.epochs += world.incidents.epochs
    faults.merge(world.proxy.counts) { $0 + $1 }
    let database = try world.store.open()
    defer { database.close() }
    let counts = try database.read { connection in
      (
        try connection.fetchOne("SELECT count(*) FROM ServerAnswer", as: Int.self) ?? 0,
        try connection.fetchOne("SELECT count(*) FROM SimulationHistory", as: Int.self) ?? 0
      )
    }
    acknowledgements += counts.0
    versions += counts.1
    for seat in world.seats {
      let (entries, acknowledged) = try Journal.read(DeviceVault.journal(seat.folder))
      photos += entries.filter { $0.kind == .photo && acknowledged.contains($0.transaction) }.count
      let transfers = CutTransfers.count(seat.folder)
      cut.uploads += transfers.uploads
      cut.downloads += transfers.downloads
      let device = try OpenDevice(seat, url: world.url)
      defer { device.close() }
      conflicts += try device.read { connection in
        try connection.fetchOne("SELECT count(*) FROM OfflineConflictResolution", as: Int.self) ?? 0
      }
    }
  }

  var rows: [(String, Int)] {
    [
      ("operations that the server acknowledged", acknowledgements), ("versions of records at the server", versions),
      ("conflicts on devices, open, decided and settled by policy", conflicts), ("devices killed", kills.devices),
      ("servers killed", kills.server), ("times in which the disk of the server failed", diskFailures),
      ("vaults copied", incidents.copies), ("vaults restored from an older backup", incidents.vaults),
      ("servers restored from a backup", incidents.servers), ("new epochs without a restore", incidents.epochs),
      ("photos that were taken", photos),
      ("requests for files that reached the server while things went wrong", fileRequests),
      ("uploads under way when their device was killed", cut.uploads),
      ("downloads under way when their device was killed", cut.downloads),
      ("servers killed while a file was on its way", cut.server),
      ("photos found to be nowhere after people deleted and brought back, in all rounds", lostPhotos),
    ] + Fault.allCases.map { ("requests: \($0.rawValue)", faults[$0] ?? 0) }
  }
}

/// The numbers as text.
enum Report {
  static func page(_ tally: Tally, _ options: Options) -> String {
    let devices = tally.devices.sorted().map(String.init).joined(separator: ", ")
    let workloads = tally.workloads.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    var text = """
      # Results of the simulation

      - date: \(Date.now.formatted(.iso8601))
      - command: `scripts/simulate --processes --rounds \(options.rounds) --seed \(options.seed)`
      - rounds: \(tally.rounds), all hold; \(options.roundsPerWorld) in a world of \(devices) devices
      - rounds by schema: \(workloads)

      | what | how often |
      |---|---|

      """
    for (name, count) in tally.rows { text += "| \(name) | \(count) |\n" }
    return text
  }
}
