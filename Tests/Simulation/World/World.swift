import Foundation
import TestSupport

/// A server, a network and some devices, from nothing.
final class World {
  let folder: String
  let seed: UInt64
  let server: ServerProcess
  let proxy: Proxy
  private(set) var seats: [Seat]
  let workload: Workload
  var incidents = Incidents()
  private(set) var kills = (devices: 0, server: 0)
  /// Times in which the disk of the server failed.
  private(set) var diskFailures = 0
  private let layer: String
  /// Servers that were killed while a file was on its way.
  private(set) var killsInTransfer = 0
  /// Photos that users have removed everywhere, counted in each round.
  var lostPhotos = 0

  init(folder: String, seed: UInt64, workload: Workload, devices: Int, programs: Programs) throws {
    (self.folder, self.seed, self.workload, layer) = (folder, seed, workload, programs.layer)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var random = Seeded(seed, "world", 0)
    server = try ServerProcess(program: programs.server, folder: folder, workload: workload)
    var seats: [Seat] = []
    for number in 0..<devices {
      let name = "d\(number + 1)"
      let error = random.chance(0.35) ? random.number(-10..<11) * 86_400 : 0
      let token = try server.addUser(name)
      let seat = Seat(
        name: name, folder: "\(folder)/\(name)", token: token, clockError: error, workload: workload,
        program: programs.own)
      // Some vaults send decrypted files, for a server that processes images, and some download all files.
      try DeviceVault.create(
        seat.folder, workload, token: token, sendsPlaintext: random.chance(0.25), fetchesAll: random.chance(0.8))
      seats.append(seat)
    }
    self.seats = seats
    proxy = try Proxy(to: server.port, seed: seed)
    try server.start()
    try server.awaitResponse()
    try store.keepHistory()
  }

  /// The server's database as it is now.
  var store: ServerStore { ServerStore(data: server.data, workload: workload) }

  var circumstances: Circumstances {
    Circumstances(
      operations: proxy.operations, resent: incidents.resent, lostHistories: incidents.lostHistories,
      lostTombstones: incidents.lostTombstones, hasIncidents: workload.hasIncidents)
  }

  /// Adds a device with a copy of another device's vault.
  func copySeat(_ number: Int) throws {
    let name = "d\(seats.count + 1)"
    seats.append(try seats[number].copy(name: name, folder: "\(folder)/\(name)"))
  }

  var url: String { "http://127.0.0.1:\(proxy.port)" }

  func stop() {
    proxy.stop()
    server.kill()
    for seat in seats { _ = seat.kill() }
  }

  private enum Event {
    /// A device, and the seed of its next process.
    case killDevice(Int, UInt64)
    case killServer
    case startServer
  }

  /// Waits a moment for files to be on their way, and then for a random part of that.
  /// - Returns: a device whose file it is.
  private func seatInTransfer(_ random: inout Seeded) -> Int? {
    var tokens: [String] = []
    for _ in 0..<150 where tokens.isEmpty {
      usleep(2_000)
      tokens = proxy.filesOnTheirWay
    }
    guard !tokens.isEmpty else { return nil }
    usleep(UInt32(random.number(0..<60_000)))
    let token = tokens[random.number(0..<tokens.count)]
    return seats.firstIndex { $0.token == token }
  }

  /// A phase in which devices work and faults happen.
  /// - Parameter kills: whether the devices are killed at its end at any instruction.
  func disturb(_ random: inout Seeded, kills endsByKill: Bool = false) throws {
    // Files have their turn where people write less and the rounds of data end well now and then.
    let isForPhotos = random.chance(0.5) && workload.hasPhotos
    let length = random.number(isForPhotos ? 900..<2_000 : 300..<1_000)
    // A device has to be open and in touch before there is a file on its way.
    let least = isForPhotos ? 300 : 60
    // A separate generator for values that depend on the timing.
    var dice = Seeded(random.next())
    var events: [(time: Int, event: Event)] = []
    for seat in seats.indices {
      for _ in 0..<2 where random.chance(isForPhotos ? 0.4 : 0.3) {
        events.append((random.number(least..<length), .killDevice(seat, random.next())))
      }
    }
    if random.chance(isForPhotos ? 0.5 : 0.35) {
      let time = random.number(least / 2..<length)
      events.append((time, .killServer))
      events.append((time + random.number(10..<200), .startServer))
    }
    events.sort { $0.time < $1.time }
    let disk = random.chance(0.3) ? FailingDisk(layer: layer, &random) : nil
    if let disk {
      server.kill()
      try server.start(on: disk)
      diskFailures += 1
    }
    proxy.disturb(sparesData: isForPhotos)
    let start = ContinuousClock.now
    for seat in seats { try seat.start(url: url, seed: random.next(), milliseconds: length, isForPhotos: isForPhotos) }
    for (time, event) in events {
      let pause = ContinuousClock.now.duration(to: start + .milliseconds(time))
      if pause > .zero { usleep(UInt32(pause / .microseconds(1))) }
      switch event {
      case .killDevice(let number, let seed):
        let number = isForPhotos ? seatInTransfer(&dice) ?? number : number
        guard seats[number].kill() else { continue }
        kills.devices += 1
        guard length - time > 80 else { continue }
        try seats[number].start(url: url, seed: seed, milliseconds: length - time, isForPhotos: isForPhotos)
      case .killServer:
        if isForPhotos { _ = seatInTransfer(&dice) }
        if !proxy.filesOnTheirWay.isEmpty { killsInTransfer += 1 }
        server.kill()
        kills.server += 1
      case .startServer: try server.start()
      }
    }
    for seat in seats {
      if endsByKill { kills.devices += seat.kill() ? 1 : 0 } else { try seat.finish() }
    }
    proxy.calm()
    // The next process finds the writes that this one could not bring to the disk.
    if disk != nil { server.kill() }
    if !server.isRunning { try server.start() }
    try server.awaitResponse()
  }
}

/// Where the programs are.
struct Programs {
  let own, server, layer: String
}
