import Foundation
import Glibc
import TestSupport

/// `fieldvault-simulation seeds --seeds N [--first N]`, or `fieldvault-simulation seeds SEED`.
enum SeedCommand {
  static func run(_ words: [String]) throws -> Int32 {
    // The order of sets and dictionaries must not differ between processes.
    if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
      setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
      var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
      execv("/proc/self/exe", &arguments)
      throw Unexpected("cannot start again: \(String(cString: strerror(errno)))")
    }
    if words.count == 1, let seed = UInt64(words[0]) {
      let result = try SimulatedWorld(seed: seed, templates: Templates(), prints: true).run()
      if let failure = result.failure { say("seed \(seed): \(failure)") }
      say("trace hash: \(String(result.traceHash, radix: 16))")
      return result.failure == nil ? 0 : 1
    }
    guard words.count >= 2, words[0] == "--seeds", let count = UInt64(words[1]) else { throw Unexpected("--seeds N") }
    let first = words.count == 4 ? UInt64(words[3]) ?? 1 : UInt64.random(in: 1...999_999_999)
    let templates = try Templates()
    var failures = 0
    for seed in first..<first + count {
      let begin = ContinuousClock.now
      let result = try SimulatedWorld(seed: seed, templates: templates, prints: false).run()
      say("seed \(seed): \(result.devices) devices, \(result.operations) operations, \(result.faults) faults, \(begin.duration(to: .now)), hash \(String(result.traceHash, radix: 16)) \(result.failure.map { "\($0)" } ?? "")")
      for (kind, count) in result.counts.sorted(by: { $0.key < $1.key }) { say("  \(kind): \(count)") }
      if result.failure != nil { failures += 1 }
    }
    return failures == 0 ? 0 : 1
  }
}
