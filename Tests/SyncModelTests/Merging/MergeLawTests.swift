import Testing

@testable import SyncModel

/// The laws of every merge, over random records.
@Suite struct MergeLawTests {
  static let rounds = 1500

  /// Runs a check over random situations, and prints how to repeat a failing one.
  func everySituation(
    _ property: String = #function, policies: [ConflictPolicy] = ConflictPolicy.allCases, special: Bool = true,
    _ check: (Situation, inout Randomness) -> Bool
  ) {
    var random = Randomness(property)
    for round in 0..<Self.rounds {
      let situation = random.situation(policy: random.pick(policies), special: special)
      let holds = check(situation, &random)
      #expect(holds, "seed \(random.seed), round \(round)\n\(situation)\nmerged \(situation.merged().merged)")
      if !holds { return }
    }
  }

  /// The owners swapped: server-owned fields become user-owned, and the reverse.
  func mirrored(_ situation: Situation) -> Situation {
    let policy: ConflictPolicy =
      switch situation.rules.policy {
      case .serverWins: .clientWins
      case .clientWins: .serverWins
      default: situation.rules.policy
      }
    let fields = situation.rules.fields.mapValues { rule in
      var rule = rule
      rule.ownership =
        switch rule.ownership {
        case .server: .user
        case .user: .server
        default: rule.ownership
        }
      return rule
    }
    return Situation(
      base: situation.base, local: situation.remote, remote: situation.local,
      rules: MergeRules(policy: policy, fields: fields))
  }

  // MARK: Symmetry

  @Test("last_write_wins gives the same record in either order") func lastWriteWinsIsTheSameInEitherOrder() {
    everySituation(policies: [.lastWriteWins]) { situation, _ in
      var situation = situation
      situation.rules.fields["path"] = nil
      let swapped = Situation(
        base: situation.base, local: situation.remote, remote: situation.local, rules: situation.rules)
      let (one, other) = (situation.merged(), swapped.merged())
      return one.merged.hasContent(of: other.merged) && one.merged.updatedAt == other.merged.updatedAt
        && exact(one.merged) == exact(other.merged) && one.fieldsToCompute == other.fieldsToCompute
        && one.kind == mirrored(other.kind) && one.lost.count == other.lost.count
    }
  }

  @Test("server_wins and client_wins mirror each other") func theOtherPoliciesMirrorEachOther() {
    everySituation(policies: [.serverWins, .clientWins, .manual]) { situation, _ in
      var situation = situation
      // The two owners count different values as the user's, and so different values stand against a deletion.
      situation.rules.fields = ["tags": FieldRule(mergesAsSet: true), "computed": FieldRule(isComputed: true)]
      let (one, other) = (situation.merged(), mirrored(situation).merged())
      if one.conflict?.fields != other.conflict?.fields || one.kind != mirrored(other.kind) { return false }
      return one.conflict != nil || exact(one.merged) == exact(other.merged)
    }
  }

  @Test("Under merge the owners mirror each other") func underMergeTheOwnersMirrorEachOther() {
    everySituation(policies: [.merge]) { situation, _ in
      var situation = situation
      situation.rules.fields = situation.rules.fields.mapValues { rule in
        var rule = rule
        if rule.ownership == .userEdited { rule.ownership = .user }
        rule.isLocalOnly = false
        return rule
      }
      situation.local.isDeleted = situation.remote.isDeleted
      let (one, other) = (situation.merged(), mirrored(situation).merged())
      if one.conflict?.fields != other.conflict?.fields { return false }
      let open = Set(one.conflict?.fields ?? [])
      return one.merged.fields.members.allSatisfy { open.contains($0.name) || other.merged.fields[$0.name] == $0.value }
    }
  }

  // MARK: Idempotence

  @Test("Merging the result again changes nothing") func mergingTheResultAgainChangesNothing() {
    everySituation { situation, _ in
      let first = situation.merged()
      guard first.conflict == nil else { return true }
      var onTop = situation
      onTop.base = situation.remote
      onTop.local = first.merged
      let second = onTop.merged()
      var acknowledged = situation
      acknowledged.local = first.merged
      acknowledged.remote = first.merged
      let third = acknowledged.merged()
      return second.merged.hasContent(of: first.merged) && second.kind == nil && !second.needsApply
        && third.merged.hasContent(of: first.merged) && !third.needsPush && !third.needsApply
    }
  }

  @Test("Repeating a merge with the same base gives the same fields")
  func aMergeThatIsDoneTwiceWithTheSameBaseIsTheSame() {
    everySituation { situation, _ in
      let first = situation.merged()
      guard first.conflict == nil else { return true }
      var again = situation
      again.local = first.merged
      let second = again.merged()
      // The deletion may have been undone or done by the rules; then it is no longer an edit against a deletion.
      return shared(second.merged.fields, situation) == shared(first.merged.fields, situation)
    }
  }

  @Test("Applying the pushed patch gives the server the merged record")
  func whatIsPushedMakesTheServerHaveTheMergedRecord() {
    everySituation { situation, _ in
      let result = situation.merged()
      guard result.conflict == nil else { return !result.needsPush }
      let server = situation.remote.applying(result.patchToPush)
      return shared(server.fields, situation) == shared(result.merged.fields, situation)
        && server.isDeleted == result.merged.isDeleted && server.userEditedFields == result.merged.userEditedFields
        && result.patchToPush.names.allSatisfy {
          server.editTime(of: $0) == result.merged.editTime(of: $0)
        }
    }
  }

  // MARK: Nothing invented, nothing lost

  @Test("Each merged value comes from the base, the local or the remote version") func everyValueIsOneOfTheThree() {
    everySituation { situation, _ in
      situation.merged().merged.fields.members.allSatisfy { member in
        let three = [situation.base?.fields, situation.local.fields, situation.remote.fields].compactMap {
          $0?[member.name]
        }
        if three.contains(where: { $0.json == member.value.json }) { return true }
        guard situation.rules[member.name].mergesAsSet, case .array(let elements) = member.value else { return false }
        let known: [SyncValue] = three.flatMap { value -> [SyncValue] in
          if case .array(let elements) = value { return elements }
          return []
        }
        return elements.allSatisfy { known.contains($0) }
      }
    }
  }

  @Test("A value that only one side changed survives") func whatOneSideAloneChangedAlwaysSurvives() {
    everySituation { situation, _ in
      guard let base = situation.base else { return true }
      let merged = situation.merged().merged
      return Randomness.columns.allSatisfy { name in
        let (local, remote) = (situation.local.fields[name], situation.remote.fields[name])
        if situation.rules[name].isLocalOnly { return merged.fields[name] == local }
        if remote == base.fields[name] { return merged.fields[name] == local }
        if local == base.fields[name] { return merged.fields[name] == remote }
        return true
      }
    }
  }

  @Test("With an unchanged remote version the result is the local record")
  func withAnUnchangedRemoteTheResultIsTheLocalRecord() {
    everySituation { situation, _ in
      guard let base = situation.base else { return true }
      var situation = situation
      situation.remote = base
      let result = situation.merged()
      return result.merged.hasContent(of: situation.local) && !result.needsApply && result.kind == nil
        && result.lost.isEmpty && result.fieldsToCompute.isEmpty
    }
  }

  @Test("With an unchanged local version the result is the remote record")
  func withAnUnchangedLocalTheResultIsTheRemoteRecord() {
    everySituation { situation, _ in
      guard let base = situation.base else { return true }
      var situation = situation
      situation.local = base
      let result = situation.merged()
      return shared(result.merged.fields, situation) == shared(situation.remote.fields, situation)
        && result.merged.isDeleted == situation.remote.isDeleted && !result.needsPush && result.kind == nil
        && result.merged.updatedAt == max(situation.remote.updatedAt, 0)
    }
  }

  @Test("A value that a user entered is kept, in conflict or recorded as overwritten")
  func aPersonsValueIsNeverLostSilently() {
    everySituation { situation, _ in
      let result = situation.merged()
      let open = Set(result.conflict?.fields ?? [])
      return Randomness.columns.allSatisfy { name in
        let rule = situation.rules[name]
        if rule.isLocalOnly || rule.isComputed || rule.mergesAsSet || open.contains(name) { return true }
        return [(MergeSide.local, situation.local), (.remote, situation.remote)].allSatisfy { side, state in
          guard let value = state.fields[name], value != situation.base?.fields[name],
            situation.rules.isPersonal(name, in: state)
          else { return true }
          return result.merged.fields[name] == value || result.lost.contains { $0.field == name && $0.side == side }
        }
      }
    }
  }

  @Test("A merged set has every added element and lacks every removed one")
  func whatIsAddedToASetIsThereAndWhatIsRemovedIsGone() {
    everySituation { situation, _ in
      func set(_ state: RecordState?) -> Set<String>? {
        switch state?.fields["tags"] {
        case nil, .null: []
        case .array(let elements): Set(elements.map(\.canonicalJSON))
        default: nil
        }
      }
      guard let base = set(situation.base), let local = set(situation.local), let remote = set(situation.remote),
        let merged = set(situation.merged().merged), situation.base != nil
      else { return true }
      return merged
        == base.intersection(local).intersection(remote).union(local.subtracting(base)).union(remote.subtracting(base))
    }
  }

  @Test("A computed column of mixed inputs is computed again") func whatIsComputedFromBothSidesIsComputedAgain() {
    everySituation { situation, _ in
      func inputs(_ state: RecordState) -> SyncObject {
        state.fields.filter { $0.name != "computed" && $0.name != "path" }
      }
      let result = situation.merged()
      let isMixed = [situation.local, situation.remote].allSatisfy { inputs($0) != inputs(result.merged) }
      return !isMixed || result.fieldsToCompute == ["computed"]
    }
  }

  // MARK: Resolution

  @Test("Each conflict can be resolved for either side") func everyConflictCanBeDecidedForEitherSide() {
    everySituation(policies: [.manual, .merge]) { situation, random in
      guard let conflict = situation.merged().conflict else { return true }
      let side = random.pick(MergeSide.allCases)
      guard let resolution = try? conflict.resolved(choosing: side, rules: situation.rules, at: 500) else {
        return false
      }
      let chosen = side == .local ? situation.local : situation.remote
      let server = situation.remote.applying(resolution.patch)
      return conflict.fields.allSatisfy { resolution.state.fields[$0] == chosen.fields[$0] }
        && (!conflict.isAboutDeletion || resolution.state.isDeleted == chosen.isDeleted)
        && shared(server.fields, situation) == shared(resolution.state.fields, situation)
        && server.isDeleted == resolution.state.isDeleted && resolution.patch.fields["path"] == nil
    }
  }

  // MARK: Support

  func shared(_ fields: SyncObject, _ situation: Situation) -> SyncObject { situation.rules.shared(fields) }

  /// The content of digests: canonical, so that the digests of devices agree.
  func exact(_ state: RecordState) -> String {
    SyncValue.object(state.fields).canonicalJSON + "\(state.isDeleted)\(state.userEditedFields.sorted())"
  }

  func mirrored(_ kind: ConflictKind?) -> ConflictKind? {
    switch kind {
    case .deletedLocally: .deletedRemotely
    case .deletedRemotely: .deletedLocally
    default: kind
    }
  }
}
