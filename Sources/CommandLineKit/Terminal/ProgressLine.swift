import Platform
import Synchronization

/// A progress line on standard error.
///
/// The line is drawn at most ten times a second, only on a terminal, and is cleared at the end. ``advance(by:)`` can be
/// called for every row from any thread. It costs one comparison without a terminal, otherwise an atomic addition and a
/// read of the clock.
///
/// ```swift
/// let progress = ProgressLine("importing", total: 100_000, terminal: standardError, isQuiet:
/// arguments.flag("quiet"))
/// defer { progress.finish() }
/// for row in rows { try insert(row); progress.advance() }
/// // importing  12,345 of 100,000  12%  4,512/s  19 s left
/// ```
public final class ProgressLine: Sendable {
  /// The counted unit.
  public enum Unit: Sendable {
    /// A count: `12,345`.
    case items
    /// Bytes: `12.3 MB`.
    case bytes
    /// Time: only the elapsed time is shown.
    case time
  }

  private let what: String
  private let unit: Unit
  private let width: Int
  private let isShown: Bool
  private let now: @Sendable () -> ContinuousClock.Instant
  private let write: @Sendable (String) -> Void
  private let start: ContinuousClock.Instant
  private let done = Atomic<Int>(0)
  private let total: Atomic<Int>
  /// Nanoseconds after the start at which the line is drawn again; the thread that moves it draws.
  private let due: Atomic<Int64>
  private let line = Locked(Line.cleared)

  private enum Line { case cleared, drawn, finished }
  private static let interval: Int64 = 100_000_000

  /// Begins; an unknown total is 0 and can be set later.
  ///
  /// The first line appears after a tenth of a second, so that short work shows nothing.
  public convenience init(
    _ what: String, total: Int = 0, unit: Unit = .items, terminal: Terminal, isQuiet: Bool = false
  ) {
    self.init(
      what, total: total, unit: unit, terminal: terminal, isQuiet: isQuiet, now: { ContinuousClock.now },
      write: { try? writeAll(Array($0.utf8), to: 2) })
  }

  init(
    _ what: String, total: Int, unit: Unit, terminal: Terminal, isQuiet: Bool,
    now: @escaping @Sendable () -> ContinuousClock.Instant, write: @escaping @Sendable (String) -> Void
  ) {
    self.what = escaped(what)
    self.unit = unit
    self.width = terminal.width
    self.isShown = terminal.canRedraw && !isQuiet
    self.now = now
    self.write = write
    self.start = now()
    self.total = Atomic(total)
    self.due = Atomic(Self.interval)
  }

  /// Sets how much there is in all.
  public func setTotal(_ total: Int) { self.total.store(total, ordering: .relaxed) }

  /// Adds to the count, and draws the line when it is due.
  public func advance(by count: Int = 1) {
    guard isShown else { return }
    let done = self.done.add(count, ordering: .relaxed).newValue
    let elapsed = elapsedNanoseconds
    let due = self.due.load(ordering: .relaxed)
    guard elapsed >= due else { return }
    let isOurs = self.due.compareExchange(expected: due, desired: elapsed + Self.interval, ordering: .relaxed).exchanged
    if isOurs { draw(done, elapsed) }
  }

  /// Clears the line, for a message of another kind; it is drawn again when it is due.
  public func clear() { clear(leaving: .cleared) }

  /// Clears the line for good. To be called at the end, however that came about.
  public func finish() { clear(leaving: .finished) }

  private func clear(leaving state: Line) {
    guard isShown else { return }
    line.withLock {
      if $0 == .drawn { write("\r\u{1B}[K") }
      if $0 != .finished { $0 = state }
    }
  }

  private func draw(_ done: Int, _ elapsed: Int64) {
    let text = progressText(
      what, done: done, total: total.load(ordering: .relaxed), seconds: Double(elapsed) / 1e9, unit: unit)
    line.withLock {
      guard $0 != .finished else { return }
      // One column stays free: a full line would make some terminals begin the next.
      write("\r" + truncated(text, to: width - 1) + "\u{1B}[K")
      $0 = .drawn
    }
  }

  private var elapsedNanoseconds: Int64 {
    let elapsed = (now() - start).components
    return elapsed.seconds * 1_000_000_000 + elapsed.attoseconds / 1_000_000_000
  }
}

/// The text of a progress line: name, count, total, percentage, rate, remaining time.
func progressText(_ what: String, done: Int, total: Int, seconds: Double, unit: ProgressLine.Unit) -> String {
  if unit == .time { return "\(what)  \(durationText(seconds))" }
  func amount(_ count: Int) -> String { unit == .bytes ? byteText(count) : countText(count) }
  var parts = [what]
  parts.append(total > 0 ? "\(amount(done)) of \(amount(total))" : amount(done))
  if total > 0 { parts.append("\(Int(min(Double(done) / Double(total), 1) * 100))%") }
  let rate = seconds > 0 ? Double(done) / seconds : 0
  if rate >= 1 { parts.append("\(amount(Int(min(rate, 1e15))))/s") }
  if rate > 0, total > done { parts.append("\(durationText(Double(total - done) / rate)) left") }
  return parts.joined(separator: "  ")
}
