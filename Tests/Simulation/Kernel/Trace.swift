import CipherSQL

/// The events of a simulation, in a hash and, when it is replayed, in a log.
///
/// The hash covers what devices, servers and the network did, and no encrypted bytes, which differ between runs.
/// `@unchecked Sendable` holds because a simulation has one thread.
final class Trace: @unchecked Sendable {
  /// FNV-1a, 64 bits.
  private(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325
  /// The number of events.
  private(set) var count = 0
  private let prints: Bool
  private let time: () -> Int64
  /// How often each kind of event happened.
  private(set) var counts: [String: Int] = [:]

  /// - Parameters:
  ///   - prints: whether to print each event.
  ///   - time: the virtual time in microseconds.
  init(prints: Bool, time: @escaping () -> Int64) { (self.prints, self.time) = (prints, time) }

  /// Adds an event: its kind, for the counts, and a text.
  func note(_ kind: String, _ text: @autoclosure () -> String) {
    count += 1
    counts[kind, default: 0] += 1
    let text = text()
    add(kind.utf8)
    add(text.utf8)
    let time = time()
    withUnsafeBytes(of: time) { add($0) }
    guard prints else { return }
    let milliseconds = String(time % 1_000_000 / 1000)
    let padding = String(repeating: "0", count: 3 - milliseconds.count)
    say("\(time / 1_000_000).\(padding)\(milliseconds) \(kind): \(text)")
  }

  /// Prints a detail that is not part of the trace.
  func detail(_ text: @autoclosure () -> String) {
    if prints { say("  " + text()) }
  }

  /// Counts something without adding an event.
  func tally(_ kind: String, _ number: Int = 1) { counts[kind, default: 0] += number }

  private func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
  }
}
