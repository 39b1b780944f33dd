import SyncModel
import TestSupport

/// A change that a world goes through once, beside faults and incidents.
enum Change: String, CaseIterable, Sendable {
  /// More time passes than the server keeps deletions.
  case retention
  /// The tokens of a user are revoked, and the user gets new ones later.
  case revocation
  /// The data of the account are away for a while.
  case absence
  /// An empty account takes the place of the account for a while.
  case emptiness
  /// The server is out of reach for hours.
  case outage
  /// The schema gets new columns, on one machine after the other.
  case upgrade
  /// The keys of a vault change.
  case keys
  /// A record gets hundreds of dependents.
  case family
  /// A vault is in device-only mode for a while.
  case deviceOnly
  /// A user logs out and logs in again later.
  case logout
  /// A device follows some projects for a while.
  case projects
  /// The users move to another server, which has no records.
  case server
  /// Devices are limited to the projects of their users.
  case membership

  /// How many worlds have the change.
  var probability: Double {
    switch self {
    case .retention: 0.08
    case .revocation: 0.12
    case .absence: 0.1
    case .emptiness: 0.08
    case .outage: 0.06
    case .upgrade: 0.15
    case .keys: 0.15
    case .family: 0.015
    case .deviceOnly, .logout: 0.08
    case .projects: 0.7
    case .server: 0.05
    case .membership: 0.85
    }
  }
}

/// The changes of one world, with a generator of their own.
struct PlannedChanges {
  var random: Seeded
  /// The changes to come, and the share of its work after which each happens, ordered.
  private var next: [(change: Change, share: Double)]
  /// The times at which users get new tokens.
  var renewals: [(user: String, time: Int64)] = []
  /// The times at which device-only modes end and users log in.
  var resumptions: [(device: String, time: Int64)] = []
  /// Whether the server may have forgotten a token that a device uses.
  var mayLackTokens = false
  /// The number of operations that changed the disk during the last upgrade of a device.
  var upgradeWrites = 120
  /// The upgrade of the schema that has begun.
  var upgrade: PlannedUpgrade?

  init(_ random: Seeded, with: Set<Change>, without: Set<Change>) {
    self.random = random
    var drawn: [(change: Change, share: Double)] = []
    // Each change draws the same numbers when another is left out.
    for change in Change.allCases {
      var own = Seeded(self.random.next())
      let happens = own.chance(change.probability)
      if happens && !without.contains(change) || with.contains(change) {
        drawn.append((change, Double.random(in: 0.15..<0.85, using: &own)))
      }
    }
    next = drawn.sorted { ($0.share, $0.change.rawValue) < ($1.share, $1.change.rawValue) }
  }

  /// Returns the next change if a world has done enough of its work.
  mutating func due(at share: Double) -> Change? {
    guard let first = next.first, first.share <= share else { return nil }
    return next.removeFirst().change
  }
}

extension SimulatedWorld {
  /// Performs the changes that are due.
  func change() throws {
    try renewDueTokens()
    try resumeDue()
    try upgradeDue()
    try changeMembers()
    while let change = changes.due(at: shareOfWork) {
      faults += 1
      trace.note("change", change.rawValue)
      switch change {
      case .retention: try passRetention()
      case .revocation: try revoke()
      case .absence: try hideAccount()
      case .emptiness: try emptyAccount()
      case .outage: try passOutage()
      case .upgrade: try planUpgrade()
      case .keys: try changeKeys()
      case .family: try raiseFamily()
      case .deviceOnly: try chooseDeviceOnly()
      case .logout: try logOut()
      case .projects: try followProjects()
      case .server: try moveToOtherServer()
      case .membership: try limitToMembers()
      }
    }
  }
}
