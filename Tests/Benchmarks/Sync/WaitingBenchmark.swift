import Foundation
import ServerSupport

/// Devices that wait for changes at three nodes on one PostgreSQL database: 100 changes a second, each of which concerns ten
/// devices.
struct WaitingBenchmark {
  let folder: String
  /// The number of devices, 100 of each account.
  let devices: Int
  private let seconds = 20
  private let projects = 10

  private struct Account {
    let token: String
    let senders: [PushSender]
  }

  func findings() async throws -> [Finding] {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try allowDescriptors(for: devices)
    let cluster = try PostgresServer("fsync=on", "shared_buffers=256MB")
    defer { cluster.remove() }
    let url = cluster.url(try cluster.makeDatabase())
    let tokens = try ServerFilling.addUsers(devices / 100, toDatabase: url)
    let nodes = try (0..<3).map { _ in try ServerProcess(database: url, in: folder) }
    defer { for node in nodes { node.stop() } }
    var accounts: [Account] = []
    for (index, token) in tokens.enumerated() {
      let access = Access(url: nodes[index % nodes.count].url, token: token)
      let senders = try (0..<projects).map { try PushSender(access, device: "tablet \($0)") }
      for sender in senders { try await sender.begin() }
      accounts.append(Account(token: token, senders: senders))
    }
    var places: [WaitingDevices.Place] = []
    for (number, account) in accounts.enumerated() {
      for index in 0..<100 {
        let sender = account.senders[index % projects]
        guard let port = URL(string: nodes[(number + index) % nodes.count].url)?.port.flatMap(UInt16.init(exactly:))
        else { throw BenchmarkFailure("a node has no port") }
        places.append(
          WaitingDevices.Place(
            port: port, token: account.token, project: sender.project,
            cursor: try await sender.changes(after: nil).cursor))
      }
    }
    let before = try nodes.map { try $0.memory() }
    let waiting = WaitingDevices(places)
    defer { waiting.stop() }
    try await wait("all devices wait", waiting) { $0.waiting == devices }
    try await Task.sleep(for: .seconds(2))
    let memory = Double(zip(try nodes.map { try $0.memory() }, before).map { $0 - $1 }.reduce(0, +)) / Double(devices)
    let start = ContinuousClock.now
    try await change(accounts, waiting)
    let took = (ContinuousClock.now - start).inSeconds
    try await wait("all devices wait again", waiting) { $0.waiting == devices }
    // Each was told of all changes, the last ones within these seconds.
    try await Task.sleep(for: .seconds(3))
    for (index, cursor) in waiting.cursors.enumerated() {
      let sender = accounts[index / 100].senders[index % projects]
      guard try await sender.changes(after: cursor).changes.isEmpty else {
        throw BenchmarkFailure("a device was not told of a change")
      }
    }
    let delays = waiting.delays.sorted()
    guard delays.count > 100 else { throw BenchmarkFailure("only \(delays.count) devices were told of a change") }
    let (middle, late) = (delays[delays.count / 2], delays[delays.count * 99 / 100])
    return [
      Finding(
        "\(devices) waiting devices of \(accounts.count) accounts at 3 nodes: \(format(memory / 1024, 1)) KiB of the nodes' memory "
          + "for each (promised: at most 20)", holds: memory <= 20 * 1024),
      Finding(
        "\(format(Double(100 * seconds) / took, 0)) changes a second, \(delays.count) times a device was told: after "
          + "\(format(middle, 3)) s, 99 of 100 within \(format(late, 3)) s (promised: 1 s)", holds: late <= 1),
    ]
  }

  /// Makes 100 changes a second.
  private func change(_ accounts: [Account], _ waiting: WaitingDevices) async throws {
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<(100 * seconds) {
        try await Task.sleep(until: start + .milliseconds(10 * number), clock: .continuous)
        let sender = accounts[number % accounts.count].senders[number / accounts.count % projects]
        group.addTask {
          waiting.noteChange(of: sender.project)
          try await sender.push(1)
        }
      }
      try await group.waitForAll()
    }
  }

  private func wait(
    _ expectation: String, _ waiting: WaitingDevices, _ condition: (WaitingDevices) -> Bool
  ) async throws {
    for _ in 0..<600 {
      if let failure = waiting.failure { throw BenchmarkFailure(failure) }
      if condition(waiting) { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw BenchmarkFailure("not within a minute: \(expectation)")
  }
}
