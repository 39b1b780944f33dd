import CommandLineKit
import TestSupport
import Testing

@Suite("Command lines that round-trip")
struct RoundTripTests {
  @Test("A random command line parses to the values that generated the line")
  func aRandomLineParsesBackToWhatItWasMadeFrom() throws {
    var random = Seeded(of: "round trip of command lines")
    for round in 0..<3000 {
      let line = RandomLine(&random)
      let parsed = try ArgumentParser(.sample).parse(line.words)
      #expect(parsed.command == line.command, "seed \(random.seed), round \(round): \(line.words)")
      for (name, values) in line.given {
        #expect(parsed.values(name) == values, "seed \(random.seed), round \(round): \(name) in \(line.words)")
      }
      for name in ["json", "quiet"] + line.options where line.given[name] == nil {
        #expect(!parsed.isGiven(name), "seed \(random.seed), round \(round): \(name) in \(line.words)")
      }
    }
  }
}

/// A command line in random spellings and order, with what it means.
private struct RandomLine {
  private(set) var words: [String] = []
  private(set) var given: [String: [String]] = [:]
  private(set) var command = "list"
  private(set) var options = ["vault", "where", "limit", "deleted"]

  init(_ random: inout Seeded) {
    var globals: [[String]] = []
    var locals: [[String]] = []
    var values: [String] = []
    if random.chance(0.4) { globals.append(["--json"]) }
    if random.chance(0.4) { globals.append([random.pick(["--quiet", "-q"])]) }
    if !globals.isEmpty {
      for option in globals.flatMap({ $0 }) { given[option == "--json" ? "json" : "quiet"] = [""] }
    }
    add("vault", nil, .once, &globals, &random)
    if random.chance(0.5) {
      values = [random.text()]
      given["ENTITY"] = values
      add("where", "w", .once, &locals, &random)
      add("limit", "n", .once, &locals, &random)
      if random.chance(0.4) {
        locals.append([random.pick(["--deleted", "-d"])])
        given["deleted"] = [""]
      }
    } else {
      command = random.chance(0.5) ? "put" : "query"
      options = command == "put" ? ["vault", "uuid"] : ["vault", "param"]
      if command == "put" {
        values = (0...Int.random(in: 1...4, using: &random)).map { _ in random.text() }
        given["ENTITY"] = [values[0]]
        given["FIELD=VALUE"] = Array(values.dropFirst())
        add("uuid", nil, .once, &locals, &random)
      } else {
        values = [random.text()]
        given["SQL"] = values
        for _ in 0..<Int.random(in: 0...3, using: &random) { add("param", nil, .each, &locals, &random) }
      }
    }
    let isBefore = random.chance(0.5)
    let name = command == "list" ? random.pick(["list", "ls"]) : command
    words = (isBefore ? globals.shuffled(using: &random).flatMap { $0 } : []) + [name]
    words += locals.flatMap { $0 } + (isBefore ? [] : globals.flatMap { $0 })
    // The arguments begin with dashes or look like assignments now and then, so they stand after the options.
    words += ["--"] + values
  }

  /// Adds an option in one of its spellings, or leaves it out.
  private mutating func add(
    _ name: String, _ short: String?, _ repetition: OptionDescription.Repetition, _ groups: inout [[String]],
    _ random: inout Seeded
  ) {
    guard repetition == .each || random.chance(0.6) else { return }
    let value = random.text()
    given[name, default: []].append(value)
    let isPlain = !value.hasPrefix("-") || value == "-"
    var spellings = [["--\(name)=\(value)"]]
    if isPlain { spellings.append(["--\(name)", value]) }
    if let short, isPlain { spellings.append(["-\(short)", value]) }
    if let short, let first = value.first, value.unicodeScalars.first.map(Character.init) == first {
      spellings.append(["-\(short)\(value)"])
    }
    groups.append(random.pick(spellings))
  }
}
