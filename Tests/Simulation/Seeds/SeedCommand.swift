import Foundation
import GeneratedSchemas
import Glibc
import TestSupport

/// The deterministic simulation: many seeds on all cores, or one seed with its story.
enum SeedCommand {
  /// - Returns: 0 if everything holds, 1 for a violation, 3 for a defect of the simulator.
  static func run(_ options: SeedOptions) throws -> Int32 {
    if let worker = options.worker { return try SeedWorker(options: options).run(worker.number, of: worker.of) }
    if let number = options.schema {
      say(GeneratedSchema(number: number).sql)
      return 0
    }
    guard let seed = options.seed else { return try SeedCampaign(options: options).run() }
    try prepareSQLite()
    let templates = try Templates()
    let world = try SimulatedWorld(seed: seed, scale: options.scale, templates: templates, prints: options.prints)
    say("seed \(seed): schema \(world.workload.name)")
    if let uuid = options.watched { world.watch(uuid) }
    let result = world.run()
    if let failure = result.failure {
      say("seed \(seed)\(options.scale.options): \(failure)")
      if options.minimises {
        let smallest = try Minimiser(seed: seed, templates: templates).reduce(options.scale, result)
        say("smallest: scripts/simulate \(seed)\(smallest.options)")
      }
    }
    for (kind, count) in result.counts.sorted(by: { $0.key < $1.key }) { say("count: \(kind) \(count)") }
    say("trace hash: \(result.hashText)")
    return result.exitCode
  }

  /// Connects SQLite with the checks. Call this before the first connection.
  static func prepareSQLite() throws {
    TemporaryFiles.use()
    try TransactionMeter.use()
  }

  /// Starts the program again with an equal order of sets and dictionaries in each process.
  static func fixHashing() throws {
    let name = "SWIFT_DETERMINISTIC_HASHING"
    guard getenv(name) == nil else { return }
    setenv(name, "1", 1)
    var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &arguments)
    throw Unexpected("cannot start again: \(String(cString: strerror(errno)))")
  }
}

extension WorldResult {
  var hashText: String {
    let text = String(traceHash, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }

  var exitCode: Int32 {
    switch failure {
    case nil: 0
    case is Violation: 1
    default: 3
    }
  }
}

/// Some of the seeds of a campaign, in a process of its own.
struct SeedWorker {
  let options: SeedOptions

  /// Prints a line for each seed, and the lines of each failure.
  func run(_ number: Int, of workers: Int) throws -> Int32 {
    try SeedCommand.prepareSQLite()
    let templates = try Templates()
    var code: Int32 = 0
    for seed in (options.first...).prefix(options.count) where Self.worker(of: seed, options.scale, workers) == number {
      let world = try SimulatedWorld(seed: seed, scale: options.scale, templates: templates, prints: false)
      let result = world.run()
      let counts = result.counts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "|")
      say("seed \(seed) \(result.isCounted) \(result.operations) \(result.faults) \(result.hashText) \(counts)")
      if let failure = result.failure {
        for line in "\(failure)".split(separator: "\n") { say("failure \(seed) \(line)") }
        say("failure \(seed) schema \(world.workload.name)")
        code = max(code, result.exitCode)
      }
    }
    return code
  }

  /// The worker that runs a seed. Worlds with one schema share a worker, because each process makes a template for each
  /// schema, which takes half as long as a world.
  private static func worker(of seed: UInt64, _ scale: WorldScale, _ workers: Int) -> Int {
    var random = SimulatedWorld.generator(seed)
    let name = SimulatedWorld.workload(seed, scale, &random).name
    return Int(Seeded(0, name, 0).first % UInt64(workers))
  }
}

/// Many seeds on all cores.
final class SeedCampaign {
  private let options: SeedOptions
  private var seeds = 0
  private var counted = 0
  private var operations = 0
  private var faults = 0
  private var counts: [String: Int] = [:]
  private var failures: [UInt64: [String]] = [:]

  init(options: SeedOptions) { self.options = options }

  func run() throws -> Int32 {
    // Before the work, which may take hours.
    if let path = options.results { try write("", to: path) }
    let workers = min(max(ProcessInfo.processInfo.activeProcessorCount, 1), options.count)
    say("seeds \(options.first) to \(options.first + UInt64(options.count) - 1), \(workers) at once")
    let folder = NSTemporaryDirectory() + "/fieldvault-seeds-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let begin = ContinuousClock.now
    var outputs: [(path: String, read: Int)] = []
    var children: [ChildProcess] = []
    for number in 0..<workers {
      let path = "\(folder)/worker-\(number)"
      children.append(
        try ChildProcess(
          "/proc/self/exe",
          [
            "--seeds", "\(options.count)", "--first", "\(options.first)", "--worker", "\(number)", "\(workers)",
          ] + options.scale.options.split(separator: " ").map(String.init),
          environment: environment, output: .file(path),
          errors: .appendedFile(path)))
      outputs.append((path, 0))
    }
    defer { for child in children { child.end() } }
    var isRunning = true
    var told = ContinuousClock.now
    while isRunning {
      usleep(200_000)
      isRunning = children.contains { $0.poll() == nil }
      for index in outputs.indices { try read(&outputs[index]) }
      if options.stopsAtViolation, !failures.isEmpty {
        say("a violation after \(seeds) seeds")
        return 1
      }
      if told.duration(to: .now) > .seconds(20) {
        told = .now
        say(progress(begin.duration(to: .now)))
      }
    }
    say(progress(begin.duration(to: .now)))
    let endings = children.map { $0.wait(within: .seconds(1)) ?? .exit(0) }
    try report(begin.duration(to: .now))
    for (seed, lines) in failures.sorted(by: { $0.key < $1.key }) {
      say("seed \(seed): \(lines.joined(separator: "\n"))")
      say("again: scripts/simulate \(seed)\(options.scale.options)")
    }
    var code: Int32 = 0
    for (number, ending) in endings.enumerated() where ending != .exit(0) {
      code = max(code, ending == .exit(1) ? 1 : 3)
      guard ending != .exit(1), ending != .exit(3) else { continue }
      say("defect of the simulator: worker \(number) ended with \(ending); its output is in \(outputs[number].path)")
      return 3
    }
    guard seeds == options.count else {
      say("defect of the simulator: \(seeds) of \(options.count) seeds have a result; see \(folder)")
      return 3
    }
    try FileManager.default.removeItem(atPath: folder)
    return code
  }

  /// The variables of a worker: a planted defect and the file of a coverage profile, too.
  private var environment: [String: String] {
    var variables = ["PATH": "/usr/bin:/bin", "SWIFT_DETERMINISTIC_HASHING": "1"]
    for name in ["FIELDVAULT_PLANTED", "LLVM_PROFILE_FILE"] {
      variables[name] = ProcessInfo.processInfo.environment[name]
    }
    return variables
  }

  private func read(_ output: inout (path: String, read: Int)) throws {
    let data = try Data(contentsOf: URL(filePath: output.path))
    guard let end = data.lastIndex(of: UInt8(ascii: "\n")), end >= output.read else { return }
    let text = String(decoding: data[output.read...end], as: UTF8.self)
    output.read = end + 1
    for line in text.split(separator: "\n") { take(line) }
  }

  private func take(_ line: Substring) {
    let words = line.split(separator: " ", maxSplits: 6).map(String.init)
    if words.count >= 6, words[0] == "seed", let isCounted = Bool(words[2]), let operations = Int(words[3]),
      let faults = Int(words[4])
    {
      seeds += 1
      if isCounted { counted += 1 }
      self.operations += operations
      self.faults += faults
      for pair in words.count > 6 ? words[6].split(separator: "|") : [] {
        let sides = pair.split(separator: "=")
        if sides.count == 2, let count = Int(sides[1]) { counts[String(sides[0]), default: 0] += count }
      }
    } else if words.count >= 3, words[0] == "failure", let seed = UInt64(words[1]) {
      let isFirst = failures[seed] == nil
      let text = words[2...].joined(separator: " ")
      failures[seed, default: []].append(text)
      if isFirst { say("seed \(seed): \(text)") }
    }
  }

  private func progress(_ time: Duration) -> String {
    let seconds = time / .seconds(1)
    return "\(seeds) seeds, \(Int(Double(seeds) / max(seconds, 0.001) * 3600)) in an hour, \(operations) operations, "
      + "\(faults) faults, \(failures.count) violations"
  }

  private func report(_ time: Duration) throws {
    for (kind, count) in counts.sorted(by: { $0.key < $1.key }) { say("  \(kind): \(count)") }
    guard let path = options.results else { return }
    var text = """
      # Results of the deterministic simulation

      - command: `scripts/simulate --seeds \(options.count) --first \(options.first)`
      - seeds: \(seeds), of which \(counted) have at least 4 devices with 60 operations each, and 5 faults
      - operations: \(operations), faults: \(faults), violations: \(failures.count)
      - time: \(Int(time / .seconds(1))) s

      | event | count |
      |---|---|

      """
    for (kind, count) in counts.sorted(by: { $0.key < $1.key }) { text += "| \(kind) | \(count) |\n" }
    try write(text, to: path)
  }

  private func write(_ text: String, to path: String) throws {
    do {
      try Data(text.utf8).write(to: URL(filePath: path))
    } catch {
      throw Unexpected("--results: \(path) cannot be written: \(error.localizedDescription)")
    }
  }
}

/// Makes the world of a failing seed smaller while the same invariant is violated.
struct Minimiser {
  let seed: UInt64
  let templates: Templates

  func reduce(_ scale: WorldScale, _ result: WorldResult) throws -> WorldScale {
    var smallest = scale
    func fails(_ scale: WorldScale) throws -> Bool {
      let other = try SimulatedWorld(seed: seed, scale: scale, templates: templates, prints: false).run()
      return (other.failure as? Violation)?.statement == (result.failure as? Violation)?.statement
        && other.failure != nil
    }
    for fault in WorldScale.Fault.allCases where !smallest.without.contains(fault) {
      var smaller = smallest
      smaller.without.insert(fault)
      if try fails(smaller) { smallest = smaller }
    }
    for devices in 1..<(smallest.devices ?? result.devices) {
      var smaller = smallest
      smaller.devices = devices
      if try fails(smaller) {
        smallest = smaller
        break
      }
    }
    while smallest.writes > 1 {
      var smaller = smallest
      smaller.writes = smallest.writes / 2
      guard try fails(smaller) else { break }
      smallest = smaller
    }
    return smallest
  }
}
