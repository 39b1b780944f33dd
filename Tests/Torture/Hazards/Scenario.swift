import Foundation
import TestSupport

/// The fault that the process meets.
enum Hazard: String {
  case kill, cut, fail
  /// One call that writes to the disk fails. Its data may survive or not.
  case unsynced
}

/// A hazard and a work.
struct Scenario {
  let hazard: Hazard
  let work: Work

  var name: String { "\(hazard.rawValue)-\(work.rawValue)" }

  static let all: [Scenario] =
    Work.allCases.filter { $0 != .checkpoint }.map { Scenario(hazard: .kill, work: $0) }
    + [Hazard.cut, .fail, .unsynced].flatMap { hazard in
      [Work.commits, .checkpoint, .migration, .rotation, .photos].map { Scenario(hazard: hazard, work: $0) }
    }

  func runCount(isSmall: Bool) -> Int {
    switch hazard {
    case .kill: isSmall ? 10 : 300
    case .cut: isSmall ? 30 : 1000
    case .fail, .unsynced: isSmall ? 16 : 400
    }
  }
}

/// The measurements of a scenario: the duration of the work, and the number of operations.
struct Measure {
  var shortest: Duration = .zero
  var longest: Duration = .zero
  var operations = 0
}

extension Scenario {
  /// Runs the work undisturbed.
  func measure(_ place: Place) throws -> Measure {
    var random = Seeded(1)
    var measure = Measure()
    let words = try work.command(place, &random)
    let clock = ContinuousClock()
    var variables: [String: String] = [:]
    if hazard != .kill {
      variables = place.layer("count")
      if hazard == .unsynced { variables["FAULT_ONLY"] = "sync" }
      variables["FAULT_COUNT_FILE"] = place.folder + "/count"
    }
    let start = clock.now
    let ending = try place.start(words, variables).wait()
    measure.longest = start.duration(to: clock.now)
    switch ending {
    case .exit(0): break
    case .exit(2): throw Unavailable()
    default: throw Unexpected("undisturbed: \(ending): \(place.lastWords)")
    }
    try work.check(place, least: work.isChild ? try place.acknowledged() : 0, isDone: true)
    if hazard == .kill {
      let begin = clock.now
      _ = try place.start([place.programs.fieldvault, "version"]).wait()
      measure.shortest = begin.duration(to: clock.now)
    } else {
      let text = try String(contentsOfFile: place.folder + "/count", encoding: .utf8)
      measure.operations = Int(text.filter(\.isNumber)) ?? 0
      guard measure.operations > 0 else { throw Unexpected("the fault layer counted nothing") }
    }
    return measure
  }

  /// One run. Returns whether the process met the hazard, or had ended before it.
  func run(_ place: Place, index: Int, seed: UInt64, measure: Measure, rowCount: Int) throws -> Bool {
    var random = Seeded(seed, name, index)
    let words = try work.command(place, &random, isEndless: hazard == .kill)
    let ending: Ending?
    switch hazard {
    case .kill: ending = try kill(place, words, measure, &random)
    case .cut: ending = try cut(place, words, index, seed, measure, &random)
    case .fail, .unsynced: ending = try fail(place, words, index, seed, measure, &random)
    }
    let isDone = if case .exit(0) = ending { true } else { false }
    var least = rowCount
    if work.isChild {
      least = max(least, try place.acknowledged())
      if isDone, least != rowCount + Work.childCount {
        throw Unexpected("ended with exit code 0 after row \(least)")
      }
    }
    try work.check(place, least: least, isDone: isDone)
    return !isDone
  }

  private func kill(_ place: Place, _ words: [String], _ measure: Measure, _ random: inout Seeded) throws -> Ending? {
    let first = measure.shortest * 0.6
    let last = work.isChild ? measure.longest + .milliseconds(200) : measure.longest
    let delay = first + (last - first) * Double.random(in: 0...1, using: &random)
    let ending = try place.start(words).stop(after: delay)
    switch ending {
    case nil, .exit(0): return ending
    case .exit(2): throw Unavailable()
    case .some(let ending): throw Unexpected("not killed, and \(ending): \(place.lastWords)")
    }
  }

  /// The operation that fails: spread evenly over all runs.
  private func point(_ index: Int, _ seed: UInt64, _ measure: Measure) -> Int {
    let start = Double(seed % 1000) / 1000
    let position = (start + Double(index) * 0.618_033_988_749_894_8).truncatingRemainder(dividingBy: 1)
    return 1 + Int(position * Double(measure.operations))
  }

  private func cut(
    _ place: Place, _ words: [String], _ index: Int, _ seed: UInt64, _ measure: Measure, _ random: inout Seeded
  ) throws -> Ending? {
    var variables = place.layer("powercut")
    variables["FAULT_AT"] = String(point(index, seed, measure))
    variables["FAULT_SEED"] = String(random.next())
    let ending = try place.start(words, variables).wait()
    switch ending {
    case .exit(137), .exit(0): break
    default: throw Unexpected("before the cut, or instead of it: \(ending): \(place.lastWords)")
    }
    // In every fourth run the power fails again while the vault is opened.
    if Int.random(in: 0..<4, using: &random) == 0 {
      try FileManager.default.removeItem(atPath: place.spare)
      try FileManager.default.createDirectory(atPath: place.spare, withIntermediateDirectories: true)
      variables["FAULT_AT"] = String(Int.random(in: 1...12, using: &random))
      variables["FAULT_SEED"] = String(random.next())
      let process = try RunningProcess(
        [place.programs.torture, "--child", "open", place.vault, place.keyFile], variables: variables,
        output: place.folder + "/opening", errors: place.folder + "/opening-errors")
      switch try process.wait() {
      case .exit(137), .exit(0): break
      case let other: throw Unexpected("opening after the cut: \(other)")
      }
    }
    if case .exit(0) = ending { return ending }
    return nil
  }

  private func fail(
    _ place: Place, _ words: [String], _ index: Int, _ seed: UInt64, _ measure: Measure, _ random: inout Seeded
  ) throws -> Ending? {
    var variables = place.layer("fail")
    variables["FAULT_AT"] = String(point(index, seed, measure))
    if hazard == .unsynced { variables["FAULT_ONLY"] = "sync" }
    variables["FAULT_ERRNO"] = index % 2 == 0 ? "EIO" : "ENOSPC"
    variables["FAULT_STICKY"] = index / 2 % 2 == 0 ? "0" : "1"
    let ending = try place.start(words, variables).wait()
    switch ending {
    case .exit(0): return ending
    case .exit(1), .exit(5), .exit(6), .exit(9): return ending
    default: throw Unexpected("a failing operation: \(ending): \(place.lastWords)")
    }
  }
}

extension Place {
  /// The environment that puts the fault layer under a process.
  func layer(_ mode: String) -> [String: String] {
    ["LD_PRELOAD": programs.layer, "FAULT_MODE": mode, "FAULT_ROOT": root, "FAULT_SPARE": spare]
  }
}
