import CipherSQL
import Foundation
import Glibc

/// What a campaign has done, in numbers.
struct Tally {
  var rounds = 0
  var devices: Set<Int> = []
  private var versions = 0
  private var answers = 0
  private var conflicts = 0
  private var kills = (devices: 0, server: 0)
  private var faults: [Fault: Int] = [:]

  var line: String {
    "\(answers) operations answered, \(versions) versions, \(conflicts) conflicts, \(kills.devices) devices and "
      + "\(kills.server) servers killed, all holds"
  }

  mutating func add(_ world: World) throws {
    kills.devices += world.kills.devices
    kills.server += world.kills.server
    faults.merge(world.proxy.counts) { $0 + $1 }
    let database = try world.store.open()
    defer { database.close() }
    let counts = try database.read { connection in
      (
        try connection.fetchOne("SELECT count(*) FROM ServerAnswer", as: Int.self) ?? 0,
        try connection.fetchOne("SELECT count(*) FROM SimulationHistory", as: Int.self) ?? 0
      )
    }
    answers += counts.0
    versions += counts.1
    for seat in world.seats {
      let device = try OpenDevice(seat, url: world.url)
      defer { device.close() }
      conflicts += try device.read { connection in
        try connection.fetchOne("SELECT count(*) FROM OfflineConflictResolution", as: Int.self) ?? 0
      }
    }
  }

  var rows: [(String, Int)] {
    [
      ("operations that the server answered", answers), ("versions of records at the server", versions),
      ("conflicts on devices, open, decided and settled by policy", conflicts), ("devices killed", kills.devices),
      ("servers killed", kills.server),
    ] + Fault.allCases.map { ("requests: \($0.rawValue)", faults[$0] ?? 0) }
  }
}

/// What was found, for people.
enum Report {
  static func page(_ tally: Tally, _ options: Options) -> String {
    let devices = tally.devices.sorted().map(String.init).joined(separator: ", ")
    var text = """
      # Results of the simulation

      - date: \(Date.now.formatted(.iso8601))
      - command: `scripts/simulate --rounds \(options.rounds) --seed \(options.seed)`
      - rounds: \(tally.rounds), all hold; \(options.roundsPerWorld) in a world of \(devices) devices

      | what | how often |
      |---|---|

      """
    for (name, count) in tally.rows { text += "| \(name) | \(count) |\n" }
    return text
  }
}
