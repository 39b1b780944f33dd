import Testing

@testable import SyncModel

/// Several devices and one server, under `last_write_wins`.
@Suite struct ConvergenceTests {
  /// Each device changes the same record offline; they come to the server in every order. The server ends with one and
  /// the same record, and each device has it after it has pulled. Holds where columns that merge as sets hold sets.
  @Test("Three offline devices converge to one record in any order of their pushes")
  func threeDevicesConvergeInWhateverOrderTheyCome() {
    var random = Randomness()
    random.hasOddSets = false
    for round in 0..<200 {
      var rules = random.rules(policy: .lastWriteWins, special: false)
      rules.fields["computed"] = nil
      var base = random.record()
      base.isDeleted = false
      let edits = (0..<3).map { _ in random.edited(base) }
      var outcomes: Set<String> = []
      for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        var server = base
        var devices = edits
        for device in order { Self.sync(&devices[device], base, &server, rules) }
        for device in order {
          // Then the device has the server's version of its push, and no changes of its own.
          devices[device] = Self.pulled(devices[device], server, rules)
          #expect(devices[device].hasContent(of: server), "seed \(random.seed), round \(round)")
        }
        outcomes.insert(
          SyncValue.object(server.fields).canonicalJSON + "\(server.isDeleted)\(server.userEditedFields.sorted())")
      }
      #expect(
        outcomes.count == 1,
        "seed \(random.seed), round \(round): \(base)\n\(edits)\n\(rules)\n\(outcomes.joined(separator: "\n"))")
      if outcomes.count != 1 { return }
    }
  }

  /// Many rounds of editing and syncing at random; when all is quiet, everybody has the same.
  @Test(
    "After random edits and syncs all devices agree with the server",
    arguments: [ConflictPolicy.lastWriteWins, .serverWins, .clientWins])
  func whenAllIsQuietEverybodyAgrees(policy: ConflictPolicy) {
    var random = Randomness("whenAllIsQuietEverybodyAgrees(\(policy))")
    for round in 0..<100 {
      let rules = random.rules(policy: policy, special: false)
      var server = random.record()
      var bases = Array(repeating: server, count: 3)
      var devices = bases
      for step in 0..<20 {
        let device = Int.random(in: 0..<3, using: &random)
        if random.chance(0.6) {
          devices[device] = random.edited(devices[device], after: Int64(20 + step))
        } else {
          Self.sync(&devices[device], bases[device], &server, rules)
          bases[device] = server
        }
      }
      for _ in 0..<2 {
        for device in 0..<3 {
          Self.sync(&devices[device], bases[device], &server, rules)
          bases[device] = server
        }
      }
      for device in devices {
        #expect(device.hasContent(of: server), "seed \(random.seed), round \(round)")
      }
    }
  }

  private static func sync(
    _ device: inout RecordState, _ base: RecordState, _ server: inout RecordState, _ rules: MergeRules
  ) {
    let result = merge(base: base, local: device, remote: server, rules: rules, clock: Situation.clock)
    if result.needsPush { server.syncVersion += 1 }
    let version = server.syncVersion
    server = result.merged
    server.syncVersion = version
    device = server
  }

  private static func pulled(_ device: RecordState, _ server: RecordState, _ rules: MergeRules) -> RecordState {
    merge(base: device, local: device, remote: server, rules: rules, clock: Situation.clock).merged
  }
}
