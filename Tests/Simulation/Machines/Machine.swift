import CipherSQL
import Platform
import SimulatedDisk
import TestSupport

/// A computer of a simulation: a disk, a clock that may be wrong, and a random source.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class Machine: @unchecked Sendable {
  let name: String
  let disk: OpaquePointer
  let scheduler: Scheduler
  /// How far the clock is ahead of the true time, in milliseconds.
  var clockError: Int64 = 0
  /// The wall time at which a stopped clock stands; `nil` for a running one.
  var stoppedAt: Int64?
  private var cpuTime: Int64 = 0
  private let random: Locked<Seeded>

  /// 2026-01-05 08:00 UTC, in milliseconds since 1970.
  static let begin: Int64 = 1_767_600_000_000

  /// - Parameter name: the name of its disk, which no other machine of the process has.
  init(_ name: String, in scheduler: Scheduler, seed: UInt64) throws {
    guard let disk = simulated_disk_create(name, seed) else { throw Unexpected("the disk \(name) exists already") }
    (self.name, self.disk, self.scheduler) = (name, disk, scheduler)
    random = Locked(Seeded(seed, "machine", 0))
  }

  /// Removes the disk. No program of the machine may run.
  func remove() throws {
    guard let path = simulated_disk_open_path(disk).map({ String(cString: $0) }) else {
      simulated_disk_destroy(disk)
      return
    }
    throw SimulatorDefect("\(path) is open when \(name) is removed")
  }

  /// The folder of the disk.
  var root: String { "/simulated/\(name)" }

  /// The wall time in milliseconds since 1970.
  var wall: Int64 { stoppedAt ?? Self.begin + scheduler.now / 1000 + clockError }

  var environment: Environment {
    Environment(
      clock: Clock(
        now: { self.wall }, instant: { self.scheduler.instant },
        sleepUntil: { end in
          try await self.scheduler.sleep(Int64(max(.zero, end - self.scheduler.instant) / .microseconds(1)))
        },
        threadTime: {
          // A hundred questions use up the time of a job.
          self.cpuTime += 200_000
          return self.cpuTime
        }),
      random: RandomSource { buffer in
        self.random.withLock { random in
          for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: random.next() >> 24) }
        }
      })
  }

  var configuration: Configuration {
    var configuration = Configuration(environment: environment)
    configuration.readerCount = 0
    configuration.pageCacheBytes = 1 << 20
    configuration.busyTimeout = .zero
    return configuration
  }

  // MARK: Disk faults

  static let everyOperation = [simulated_read, simulated_write, simulated_sync, simulated_open, simulated_name]
  /// The operations that change the disk.
  static let everyWrite = [simulated_write, simulated_sync, simulated_name]

  /// Lets one operation of the disk fail, counted from the next one.
  func fail(_ kinds: [simulated_operation], after count: Int, _ fault: simulated_fault) {
    simulated_disk_fail(disk, Self.mask(kinds), UInt64(count), fault)
  }

  private static func mask(_ kinds: [simulated_operation]) -> Int32 { kinds.reduce(0) { $0 | Int32($1.rawValue) } }

  /// The number of operations so far that changed the disk.
  var writes: Int { Int(simulated_disk_count(disk, Self.mask(Self.everyWrite))) }

  func heal() { simulated_disk_heal(disk) }

  /// Whether the last fault has happened.
  var hasFailed: Bool { simulated_disk_has_failed(disk) != 0 }

  /// Whether the power is cut.
  var isOff: Bool { simulated_disk_is_off(disk) != 0 }

  func cutPower() { simulated_disk_cut(disk) }

  /// - Throws: ``SimulatorDefect`` if the program that the power cut ended still has files open.
  func restart() throws {
    guard simulated_disk_restart(disk) != 0 else { return }
    let path = simulated_disk_open_path(disk).map { String(cString: $0) } ?? ""
    throw SimulatorDefect("\(path) is open when \(name) restarts")
  }
}

/// A defect of the simulator, not of the product.
struct SimulatorDefect: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = "defect of the simulator: " + description }
}
