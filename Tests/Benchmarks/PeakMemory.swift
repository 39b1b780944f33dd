import Foundation

/// The most memory that the process has had since some moment. See proc_pid_status(5).
struct PeakMemory {
  private let beginning: Int

  /// Counts from now on.
  init() throws {
    try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
    beginning = try Self.peakKiB()
  }

  /// The peak, in KiB.
  static func peakKiB() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
      let number = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
    else { throw BenchmarkFailure("/proc/self/status has no VmHWM") }
    return number
  }

  /// By how many KiB the peak is above the memory at the beginning.
  func grownKiB() throws -> Int { try Self.peakKiB() - beginning }
}
