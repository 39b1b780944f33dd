import GeneratedSchemas
import TestSupport

/// The options of the deterministic simulation.
struct SeedOptions: Sendable {
  /// The seed to replay; `nil` for a campaign.
  var seed: UInt64?
  /// The number of seeds of a campaign.
  var count = 0
  /// The first seed of a campaign. Seeds follow one another.
  var first = UInt64.random(in: 1...999_999_999)
  /// Whether a campaign ends at the first violation.
  var stopsAtViolation = false
  /// Whether a replay prints its events.
  var prints = true
  /// Whether a failing replay is reduced.
  var minimises = false
  /// The number of the generated schema to print.
  var schema: Int?
  /// The UUID of a record whose states a replay prints.
  var watched: String?
  var results: String?
  var scale = WorldScale()
  /// Of how many workers this is one, and which; `nil` for the program that a user starts.
  var worker: (number: Int, of: Int)?

  static let usage = """
    usage: scripts/simulate --seeds N [--first SEED] [--until-violation] [--results FILE] [--postgresql]
           scripts/simulate SEED [--quiet] [--minimise] [--watch UUID] [--devices N] [--writes N] [--without FAULT,...]
             [--with CHANGE,...] [--photos] [--workload NAME]
             [--remote server|rest] [--postgresql]
           scripts/simulate --schema NUMBER
           scripts/simulate --processes [OPTIONS]
    """

  init(_ words: [String]) throws {
    var rest = words[...]
    func word(_ option: String, _ needed: String) throws -> String {
      guard let word = rest.popFirst() else { throw Unexpected("\(option) needs \(needed)") }
      return word
    }
    func number<Number: FixedWidthInteger>(_ option: String, _ range: ClosedRange<Number>) throws -> Number {
      let needed = "a number from \(range.lowerBound) to \(range.upperBound)"
      let text = try word(option, needed)
      guard let number = Number(text), range.contains(number) else {
        throw Unexpected("\(option) needs \(needed), not '\(text)'")
      }
      return number
    }
    while let next = rest.popFirst() {
      switch next {
      case "--seeds": count = try number(next, 1...10_000_000)
      case "--first": first = try number(next, 0...UInt64.max / 2)
      case "--until-violation": stopsAtViolation = true
      case "--quiet": prints = false
      case "--minimise": minimises = true
      case "--watch": watched = try word(next, "the UUID of a record")
      case "--schema": schema = try number(next, 0...GeneratedSchema.count - 1)
      case "--results": results = try word(next, "a file")
      case "--devices": scale.devices = try number(next, 1...Templates.mostUsers)
      case "--writes": scale.writes = try number(next, 1...10_000)
      case "--without":
        for name in try word(next, "names of faults").split(separator: ",") {
          guard let fault = WorldScale.Fault(rawValue: String(name)) else {
            let all = WorldScale.Fault.allCases.map(\.rawValue).joined(separator: ", ")
            throw Unexpected("--without needs names among \(all), not '\(name)'")
          }
          scale.without.insert(fault)
        }
      case "--with":
        for name in try word(next, "names of changes").split(separator: ",") {
          guard let change = Change(rawValue: String(name)) else {
            let all = Change.allCases.map(\.rawValue).joined(separator: ", ")
            throw Unexpected("--with needs names among \(all), not '\(name)'")
          }
          scale.with.insert(change)
        }
      case "--postgresql":
        (scale.isMirrored, scale.remote) = (true, .server)
        scale.without.formUnion(WorldScale.withoutMirror)
      case "--photos": scale.alwaysHasPhotos = true
      case "--workload":
        let name = try word(next, "the name of a schema")
        guard Workload.simulated.contains(where: { $0.name == name }) else {
          let all = Workload.simulated.map(\.name).joined(separator: ", ")
          throw Unexpected("--workload needs one of \(all), not '\(name)'")
        }
        (scale.workload, scale.remote) = (name, .server)
      case "--remote":
        let name = try word(next, "server or rest")
        guard let kind = WorldScale.Remote(rawValue: name) else {
          throw Unexpected("--remote needs server or rest, not '\(name)'")
        }
        scale.remote = kind
      case "--worker": worker = (try number(next, 0...1000), try number(next, 1...1000))
      default:
        guard seed == nil, let number = UInt64(next) else {
          if next.hasPrefix("-") { throw Unexpected("unknown option '\(next)'\n\(Self.usage)") }
          throw Unexpected("'\(next)' is not a seed: a number is needed")
        }
        seed = number
      }
    }
    if scale.alwaysHasPhotos {
      guard scale.remote != .rest else { throw Unexpected("--photos needs --remote server: an API has no photos") }
      scale.remote = .server
    }
    guard [seed != nil, count > 0, schema != nil].count(where: { $0 }) == 1 else {
      throw Unexpected("give a seed, --seeds or --schema\n\(Self.usage)")
    }
  }
}

/// How large a world is, and which faults it has. Minimising a failure makes it smaller.
struct WorldScale: Equatable, Sendable {
  /// A kind of fault that can be left out.
  enum Fault: String, CaseIterable, Sendable {
    /// Power cuts of devices and of the server.
    case power
    /// Operations of disks that fail.
    case disk
    /// Requests that go wrong.
    case network
    /// Devices without a network.
    case offline
    /// Clocks that are wrong, jump or stop.
    case clock
    /// Programs that are restarted.
    case restart
    /// Copies, restores, epochs and rotations.
    case incident
    /// Photos of users, with the faults of their files.
    case photo
    /// One of the changes of `Change`.
    case retention, revocation, absence, emptiness, outage, upgrade, keys, family
    /// The program that fills fields beside the server.
    case service
  }

  /// The peer of the devices.
  enum Remote: String, Sendable {
    /// A FieldVault server.
    case server
    /// An existing REST API.
    case rest
  }

  /// The number of devices at the beginning; `nil` for 4 to 6, or 1 to 4 with an API, as the seed decides.
  var devices: Int?
  /// How often each person writes a record.
  var writes = 60
  var without: Set<Fault> = []
  /// Changes that the world has in any case.
  var with: Set<Change> = []
  /// Whether the world has the restoration schema, with photos.
  var alwaysHasPhotos = false
  /// The name of a hand-written schema; `nil` for the schema that the seed decides.
  var workload: String?
  /// The peer; `nil` for the one that the seed decides.
  var remote: Remote?
  /// Whether a server on PostgreSQL executes all requests too.
  var isMirrored = false
  /// What happens to the data of one server only, beside its requests.
  static let withoutMirror: Set<Fault> = [.incident, .photo, .retention, .revocation, .absence, .emptiness, .family]

  /// The options that give this scale.
  var options: String {
    var text = devices.map { " --devices \($0)" } ?? ""
    if writes != WorldScale().writes { text += " --writes \(writes)" }
    if !without.isEmpty { text += " --without " + without.map(\.rawValue).sorted().joined(separator: ",") }
    if alwaysHasPhotos { text += " --photos" }
    if let workload { text += " --workload \(workload)" }
    if !with.isEmpty { text += " --with " + with.map(\.rawValue).sorted().joined(separator: ",") }
    if let remote { text += " --remote \(remote.rawValue)" }
    if isMirrored { text += " --postgresql" }
    return text
  }
}
