import Foundation
import Glibc
import TestSupport

/// A device as the orchestrator sees it: a folder, and a process now and then.
final class Seat {
  let name: String
  let folder: String
  /// The token of the device.
  let token: String
  /// How wrong its clock is, in seconds; 0 for a right one.
  let clockError: Int
  let workload: Workload
  private let program: String
  private var process: ChildProcess?
  /// Entries of the journal that need no further look.
  var settled: Set<Int> = []
  /// Photos that were compared with the added ones.
  var seen: Set<String> = []

  init(name: String, folder: String, token: String, clockError: Int, workload: Workload, program: String) {
    (self.name, self.folder, self.token, self.workload) = (name, folder, token, workload)
    (self.clockError, self.program) = (clockError, program)
  }

  /// - Parameter isForPhotos: whether the person takes photos more than anything else.
  func start(url: String, seed: UInt64, milliseconds: Int, isForPhotos: Bool) throws {
    process = try ChildProcess(
      program,
      [
        "device", name, folder, url, String(seed), String(milliseconds), String(clockError),
        !workload.hasPhotos ? "records" : isForPhotos ? "photos" : "data", workload.name,
      ], output: .file(folder + "/log.out"), errors: .appendedFile(folder + "/log.err"))
  }

  /// A device with a copy of this device's vault.
  func copy(name: String, folder: String) throws -> Seat {
    try DeviceVault.copy(self.folder, to: folder)
    return Seat(
      name: name, folder: folder, token: token, clockError: clockError, workload: workload, program: program)
  }

  /// Whether it was still running.
  func kill() -> Bool {
    guard let process, process.poll() == nil else { return false }
    process.end()
    self.process = nil
    return true
  }

  /// Waits for its end.
  /// - Throws: ``Violation`` when it does not come, or is a failure.
  func finish() throws {
    guard let process else { return }
    self.process = nil
    guard let ending = process.wait(within: .seconds(20)) else {
      throw Violation(5, "device \(name) does not end, process \(process.id)")
    }
    guard ending == .exit(0) else { throw Violation(5, "device \(name) ended with \(ending): \(lastWords)") }
  }

  private var lastWords: String {
    let text = (try? String(contentsOfFile: folder + "/log.err", encoding: .utf8)) ?? ""
    return text.split(separator: "\n").suffix(6).joined(separator: " | ")
  }
}
