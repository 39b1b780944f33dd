import CipherSQL
import Foundation
import Platform
import SimulatedDisk
import TestSupport

/// A machine with a simulated disk and an encrypted database on it.
final class Machine {
  let disk: OpaquePointer
  let path: String
  let configuration: Configuration
  private(set) var database: Database?

  init(seed: UInt64, readers: Int = 1) throws {
    let name = UUID.version7().uuidString
    guard let disk = simulated_disk_create(name, seed) else { throw Unexpected("no memory for a disk") }
    self.disk = disk
    path = "/simulated/\(name)/vault.db"
    var configuration = Configuration(
      environment: Environment(
        clock: TestClock(1_767_225_600_000, isRunning: false).clock, random: .repeatable(seed)))
    configuration.readerCount = readers
    // So small that reads reach the disk.
    configuration.pageCacheBytes = 64 << 10
    configuration.busyTimeout = .zero
    self.configuration = configuration
  }

  deinit {
    database?.close()
    database = nil
    simulated_disk_destroy(disk)
  }

  /// Opens the database, or creates it.
  @discardableResult func start() throws -> Database {
    let opened = try open()
    database = opened
    return opened
  }

  /// Opens the database as another program does.
  func open() throws -> Database {
    guard let key = PlainKey([UInt8](repeating: 7, count: 32)) else { throw Unexpected("a key has 32 bytes") }
    return try Database(path: path, key: key, configuration: configuration)
  }

  /// Cuts the power and starts the machine again.
  @discardableResult func crash() throws -> Database {
    try restart()
    return try start()
  }

  /// Cuts the power and starts the machine again, without its database.
  func restart() throws {
    simulated_disk_cut(disk)
    database?.close()
    database = nil
    let open = simulated_disk_restart(disk)
    guard open == 0 else { throw Unexpected("\(open) files are open") }
  }

  /// Lets one operation fail, counted from the next one.
  func fail(_ kinds: [simulated_operation], after count: Int, _ fault: simulated_fault) {
    let mask = kinds.reduce(0) { $0 | Int32($1.rawValue) }
    simulated_disk_fail(disk, mask, UInt64(count), fault)
  }

  var hasFailed: Bool { simulated_disk_has_failed(disk) != 0 }

  func count(_ kinds: [simulated_operation]) -> UInt64 {
    simulated_disk_count(disk, kinds.reduce(0) { $0 | Int32($1.rawValue) })
  }
}

let everyOperation = [simulated_read, simulated_write, simulated_sync, simulated_open, simulated_name]
