import Testing

@testable import SyncModel

/// The changes that a service and a device may make to each other's fields: every combination of role, owner, list
/// and stored writer.
@Suite struct WriterRulesTests {
  private struct Case: CustomStringConvertible {
    let role: TokenRole
    let ownership: FieldOwnership?
    let isListed: Bool
    let isOfService: Bool
    let isStale: Bool
    var description: String {
      "\(role) \(ownership.map(\.rawValue) ?? "none") listed:\(isListed) ofService:\(isOfService) stale:\(isStale)"
    }
  }

  private static let cases = TokenRole.allCases.flatMap { role in
    [FieldOwnership?.none, .server, .user, .userEdited].flatMap { ownership in
      [false, true].flatMap { listed in
        [false, true].flatMap { ofService in
          [false, true].map {
            Case(role: role, ownership: ownership, isListed: listed, isOfService: ofService, isStale: $0)
          }
        }
      }
    }
  }

  /// The value of the field after the push: `new` for the pushed value, `old` for the stored one, `open` for a
  /// conflict.
  private func outcome(of now: Case) -> String {
    let rules = MergeRules(policy: .merge, fields: ["f": FieldRule(ownership: now.ownership)])
    let listed: Set<String> = now.isListed ? ["f"] : []
    let stored = RecordState(
      fields: ["f": "old", "g": "old"], syncVersion: 2, updatedAt: 2, userEditedFields: listed)
    let services: Set<String> = now.isOfService ? ["f"] : []
    let writer = WriterRules(role: now.role, rules: rules)
    let sent = RecordPatch(
      fields: ["f": "new", "g": "new"], userEditedFields: now.isListed && now.role != .service ? ["f"] : [],
      updatedAt: 3)
    let (patch, kept) = writer.admitted(sent, over: stored, serviceFields: services)
    #expect(patch.fields["g"] == "new", "\(now)")
    #expect(kept == (patch.fields["f"] == nil ? ["f"] : []), "\(now)")
    guard now.isStale else {
      let state = stored.applying(patch)
      #expect(state.fields["g"] == "new")
      return text(state.fields["f"])
    }
    let base = RecordState(fields: ["f": "base", "g": "old"], syncVersion: 1, updatedAt: 1)
    var local = base.applying(patch)
    if patch.fields["f"] == nil { local.fields["f"] = "base" }
    local.userEditedFields = patch.userEditedFields ?? stored.userEditedFields
    let result = merge(
      base: base, local: local, remote: stored, rules: rules, clock: MergeClock(serverNow: 10),
      writers: MergeWriters(isLocalService: now.role == .service, serviceFields: services))
    #expect(result.merged.fields["g"] == "new", "\(now)")
    // A value of a service is nothing that a user entered.
    let isUsersLoss = result.lost.contains { $0.side == .local ? now.role == .service : now.isOfService }
    #expect(!isUsersLoss, "\(now)")
    return result.conflict == nil ? text(result.merged.fields["f"]) : "open"
  }

  private func text(_ value: SyncValue?) -> String {
    if case .text(let text)? = value { return text }
    return "none"
  }

  /// The rules of the design, written once more as a table.
  private func expected(_ now: Case) -> String {
    let isService = now.role == .service
    if isService, now.isListed { return "old" }
    if !isService, now.ownership == .server, now.isOfService { return "old" }
    guard now.isStale else { return "new" }
    switch now.ownership {
    case nil: return "open"
    case .server: return isService ? "new" : "old"
    case .user: return isService && !now.isOfService ? "old" : "new"
    case .userEdited: return isService || now.isListed ? "new" : "old"
    }
  }

  @Test("The role of the writer, the owner and the list decide each field, and the other fields are applied")
  func everyCombination() {
    #expect(Self.cases.count == 96)
    for now in Self.cases { #expect(outcome(of: now) == expected(now), "\(now)") }
  }

  @Test("Only devices add to userEditedFields")
  func onlyDevicesMark() {
    let rules = MergeRules(policy: .merge, fields: [:])
    let patch = RecordPatch(fields: [:], userEditedFields: ["f"], updatedAt: 1)
    for role in TokenRole.allCases {
      for stored in [nil, RecordState(fields: [:], updatedAt: 0)] {
        let admitted = WriterRules(role: role, rules: rules).admitted(patch, over: stored, serviceFields: []).patch
        #expect(admitted.userEditedFields == (role == .service ? nil : ["f"]))
      }
    }
  }

  @Test("A field belongs to the writer of its last value")
  func lastWriter() {
    let rules = MergeRules(policy: .merge, fields: [:])
    func after(_ role: TokenRole) -> Set<String> {
      WriterRules(role: role, rules: rules).serviceFields(before: ["a", "b"], changed: ["b", "c"])
    }
    #expect(after(.service) == ["a", "b", "c"])
    #expect(after(.device) == ["a"] && after(.admin) == ["a"])
  }

  @Test("Outside of the policy merge a service is held back by userEditedFields alone, and a device by nothing")
  func otherPolicies() {
    for policy in ConflictPolicy.allCases where policy != .merge {
      let rules = MergeRules(policy: policy, fields: ["f": FieldRule(ownership: .server)])
      let stored = RecordState(fields: ["f": "old", "g": "old"], updatedAt: 0, userEditedFields: ["g"])
      let patch = RecordPatch(fields: ["f": "new", "g": "new"], updatedAt: 1)
      func kept(_ role: TokenRole) -> [String] {
        WriterRules(role: role, rules: rules).admitted(patch, over: stored, serviceFields: ["f"]).kept
      }
      #expect(kept(.device) == [] && kept(.service) == ["g"])
    }
  }
}
