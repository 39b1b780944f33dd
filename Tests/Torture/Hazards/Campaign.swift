import Foundation
import Platform
import TestSupport

/// All runs of a scenario, by several workers.
struct Campaign: Sendable {
  let options: Options
  let folder: String
  let programs: Programs
  let templates: Templates

  struct Result {
    let scenario: Scenario
    var runs = 0
    var hits = 0
    var operations = 0
    var failures: [String] = []
    var isAvailable = true
    var seconds = 0
  }

  func perform(_ scenario: Scenario) throws -> Result {
    var result = Result(scenario: scenario)
    let start = ContinuousClock.now
    let measure: Measure
    let template: Template
    do {
      template = try templates.template(for: scenario.work, programs)
      let place = try Place(at: "\(folder)/\(scenario.name)-measure", from: template, programs)
      measure = try scenario.measure(place)
      try FileManager.default.removeItem(atPath: place.folder)
    } catch is Unavailable {
      result.isAvailable = false
      return result
    } catch {
      result.failures = ["\(error)"]
      return result
    }
    result.operations = measure.operations
    let total = options.runs ?? scenario.runCount(isSmall: options.isSmall)
    let next = Locked(options.from)
    let shared = Locked(result)
    DispatchQueue.concurrentPerform(iterations: options.workers) { _ in
      while true {
        let index = next.withLock { value in
          value += 1
          return value - 1
        }
        let (hits, failures) = shared.withLock { ($0.hits, $0.failures.count) }
        // Kills that came too late do not count in a full campaign.
        let isShort = scenario.hazard == .kill && !options.isSmall && options.runs == nil && hits < total
        guard index < options.from + total * (isShort ? 4 : 1), failures < 20 else { return }
        let outcome = run(scenario, template, measure, index)
        shared.withLock { result in
          result.runs += 1
          switch outcome {
          case .success(let isHit): result.hits += isHit ? 1 : 0
          case .failure(let trouble): result.failures.append(trouble.description)
          }
        }
      }
    }
    result = shared.withLock { $0 }
    result.seconds = Int(start.duration(to: .now).components.seconds)
    return result
  }

  /// A run that fails keeps its folder and says how to repeat it.
  private func run(
    _ scenario: Scenario, _ template: Template, _ measure: Measure, _ index: Int
  ) -> Swift.Result<Bool, Unexpected> {
    let path = "\(folder)/\(scenario.name)-\(index)"
    do {
      let place = try Place(at: path, from: template, programs)
      let isHit = try scenario.run(
        place, index: index, seed: options.seed, measure: measure, rowCount: template.rowCount)
      try FileManager.default.removeItem(atPath: path)
      return .success(isHit)
    } catch {
      let again = "--only \(scenario.name) --seed \(options.seed) --from \(index) --runs 1"
      return .failure(Unexpected("\(error)\n    kept: \(path)\n    again: scripts/torture \(again)"))
    }
  }
}

/// The vaults to copy, each made when it is first needed.
final class Templates: Sendable {
  private let folder: String
  private let made = Locked<[String: Template]>([:])

  init(folder: String) { self.folder = folder }

  func template(for work: Work, _ programs: Programs) throws -> Template {
    let name = [.migration, .passphrase, .photos].contains(work) ? work.rawValue : "plain"
    if let template = made.withLock({ $0[name] }) { return template }
    let template = try Template(
      at: "\(folder)/template-\(name)", rowCount: work == .migration ? 1200 : 150,
      withPhotos: work == .photos)
    if work == .migration { try template.outdate() }
    if work == .passphrase {
      let place = try Place(at: "\(folder)/preparing", from: template, programs)
      try Work.write(Work.oldPassphrase + "\n", to: place.newPassphrase)
      try place.finish(
        ["key", "add", "passphrase", "--new-passphrase-file", place.newPassphrase], vault: template.vault)
      try FileManager.default.removeItem(atPath: place.folder)
    }
    made.withLock { $0[name] = template }
    return template
  }
}
