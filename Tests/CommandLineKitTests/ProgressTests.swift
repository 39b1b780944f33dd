import Platform
import Testing

@testable import CommandLineKit

/// A manual clock, and the drawn texts.
private final class Screen: Sendable {
  private let state = Locked((now: ContinuousClock.now, drawn: [String]()))
  var drawn: [String] { state.withLock { $0.drawn } }
  func pass(milliseconds: Int) { state.withLock { $0.now += .milliseconds(milliseconds) } }

  func progress(
    _ what: String, total: Int, unit: ProgressLine.Unit = .items, width: Int = 80, isTerminal: Bool = true,
    isQuiet: Bool = false
  ) -> ProgressLine {
    ProgressLine(
      what, total: total, unit: unit, terminal: Terminal(isTerminal: isTerminal, width: width), isQuiet: isQuiet,
      now: { self.state.withLock { $0.now } }, write: { text in self.state.withLock { $0.drawn.append(text) } })
  }
}

@Suite("Progress")
struct ProgressTests {
  @Test("Progress shows count, percentage, rate and remaining time") func saysHowFarItIs() {
    let screen = Screen()
    let progress = screen.progress("importing", total: 100_000)
    screen.pass(milliseconds: 2500)
    progress.advance(by: 12_345)
    progress.finish()
    #expect(screen.drawn == ["\rimporting  12,345 of 100,000  12%  4,938/s  18 s left\u{1B}[K", "\r\u{1B}[K"])
  }

  @Test("Progress without a total shows count and rate") func withoutATotalItCounts() {
    let screen = Screen()
    let progress = screen.progress("reading", total: 0, unit: .bytes)
    screen.pass(milliseconds: 1000)
    progress.advance(by: 2_500_000)
    #expect(screen.drawn == ["\rreading  2.5 MB  2.5 MB/s\u{1B}[K"])
  }

  @Test("Progress is drawn at most ten times per second") func drawsTenTimesASecondAtMost() {
    let screen = Screen()
    let progress = screen.progress("importing", total: 10_000)
    for _ in 0..<10_000 {
      screen.pass(milliseconds: 1)
      progress.advance()
    }
    #expect(screen.drawn.count == 100)
  }

  @Test("A short task shows no progress") func whatIsQuickShowsNothing() {
    let screen = Screen()
    let progress = screen.progress("importing", total: 3)
    progress.advance(by: 3)
    progress.finish()
    #expect(screen.drawn == [])
  }

  @Test("Progress is shown neither in a file nor in quiet mode") func showsNothingInAFileOrWhenQuiet() {
    let screen = Screen()
    for progress in [
      screen.progress("importing", total: 3, isTerminal: false), screen.progress("importing", total: 3, isQuiet: true),
    ] {
      screen.pass(milliseconds: 1000)
      progress.advance()
      progress.finish()
    }
    #expect(screen.drawn == [])
  }

  @Test("Progress is cut to the width of the terminal") func staysWithinTheLine() {
    let screen = Screen()
    let progress = screen.progress("importing", total: 100, width: 20)
    screen.pass(milliseconds: 200)
    progress.advance()
    #expect(screen.drawn == ["\rimporting  1 of 10…\u{1B}[K"])
  }

  @Test("Progress is cleared for a message and is not drawn after its end")
  func isClearedForAMessageAndNeverDrawnAfterTheEnd() {
    let screen = Screen()
    let progress = screen.progress("importing", total: 100)
    screen.pass(milliseconds: 200)
    progress.advance()
    progress.clear()
    progress.clear()
    screen.pass(milliseconds: 200)
    progress.advance()
    progress.finish()
    screen.pass(milliseconds: 200)
    progress.advance()
    #expect(screen.drawn.count == 4)
    #expect(screen.drawn.last == "\r\u{1B}[K")
  }

  @Test("Progress counts steps of concurrent threads") func countsFromManyThreads() async {
    let screen = Screen()
    let progress = screen.progress("importing", total: 8000)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { for _ in 0..<999 { progress.advance() } } }
    }
    screen.pass(milliseconds: 1000)
    progress.advance(by: 8)
    #expect(screen.drawn == ["\rimporting  8,000 of 8,000  100%  8,000/s\u{1B}[K"])
  }
}
