import Testing

@testable import SyncModel

/// Merges as people know them: receipts, of which a machine reads part, and logs that several people write.
@Suite struct MergeExampleTests {
  /// Receipts have owners for their fields.
  static let receipts = MergeRules(
    policy: .merge,
    fields: [
      "extractedTotal": FieldRule(ownership: .server), "extractedMerchantName": FieldRule(ownership: .server),
      "extractedDate": FieldRule(ownership: .server), "ocrRawText": FieldRule(ownership: .server),
      "llmConfidence": FieldRule(ownership: .server),
      "userNotes": FieldRule(ownership: .user), "isFavorite": FieldRule(ownership: .user),
      "userTags": FieldRule(ownership: .user, mergesAsSet: true),
      "storeName": FieldRule(ownership: .userEdited), "category": FieldRule(ownership: .userEdited),
      "warrantyMonths": FieldRule(ownership: .userEdited), "imageKeys": FieldRule(mergesAsSet: true),
      "warrantyExpiryDate": FieldRule(isComputed: true), "localImagePaths": FieldRule(isLocalOnly: true),
    ])

  let base = RecordState(
    fields: [
      "storeName": "IKEA", "extractedTotal": "12.00", "userNotes": .null, "totalAmount": .integer(12),
      "purchaseDate": "2026-01-05", "warrantyMonths": 12, "warrantyExpiryDate": "2027-01-05", "userTags": ["home"],
      "imageKeys": [], "extractedMerchantName": "IKEA",
    ], syncVersion: 3, updatedAt: 1000)

  /// The base with some fields changed.
  func edited(
    _ fields: SyncObject, at time: Int64 = 2000, version: Int64 = 3, by person: Set<String> = [],
    isDeleted: Bool = false
  ) -> RecordState {
    var state = base.applying(
      RecordPatch(
        fields: fields, isDeleted: isDeleted ? true : nil, userEditedFields: person.isEmpty ? nil : person,
        updatedAt: time))
    state.syncVersion = version
    return state
  }

  func mergedReceipt(_ local: RecordState, _ remote: RecordState) -> MergeResult {
    merge(base: base, local: local, remote: remote, rules: Self.receipts, clock: MergeClock(serverNow: 9000))
  }

  func merged(
    _ local: RecordState, _ remote: RecordState, _ policy: ConflictPolicy, clock: MergeClock = .init(serverNow: 9000)
  ) -> MergeResult {
    merge(base: base, local: local, remote: remote, rules: MergeRules(policy: policy), clock: clock)
  }

  // MARK: Owners

  @Test("A field that the user edited wins over the server's extraction") func theCorrectedStoreNameStands() {
    let local = edited(["storeName": "IKEA Thessaloniki"], by: ["storeName"])
    let remote = edited(["storeName": "IKEA Greece", "extractedTotal": "12.50"], at: 3000, version: 4)
    let result = mergedReceipt(local, remote)
    #expect(result.merged.fields["storeName"] == "IKEA Thessaloniki")
    #expect(result.merged.fields["extractedTotal"] == "12.50")
    #expect(result.merged.userEditedFields == ["storeName"])
    #expect(result.merged.syncVersion == 4)
    #expect(result.conflict == nil)
    #expect(result.lost.isEmpty, "a machine's value lost, not a person's")
    #expect(result.patchToPush.fields == ["storeName": "IKEA Thessaloniki"])
    #expect(result.patchToPush.userEditedFields == ["storeName"])
    #expect(result.needsApply)
  }

  @Test("A conditional field that no user edited takes the server's value")
  func aStoreNameThatNobodyEditedIsTheServers() {
    let result = mergedReceipt(edited(["storeName": "1KEA"]), edited(["storeName": "IKEA Greece"], version: 4))
    #expect(result.merged.fields["storeName"] == "IKEA Greece")
    #expect(result.conflict == nil)
    #expect(result.lost.isEmpty)
    #expect(!result.needsPush)
  }

  @Test(
    "The server's value wins in server-owned fields",
    arguments: ["extractedMerchantName", "extractedDate", "extractedTotal", "ocrRawText", "llmConfidence"])
  func theServersExtractionWinsOverTheDevices(field: String) {
    let result = mergedReceipt(edited([field: "1"]), edited([field: "2"], version: 4))
    #expect(result.merged.fields[field] == "2")
    #expect(result.lost.isEmpty && result.conflict == nil && !result.needsPush)
  }

  @Test("The second device wins a field that it owns, and the overwritten value is reported")
  func theSecondDeviceWinsAFieldThatItOwnsAndTheFirstIsReported() {
    let result = mergedReceipt(edited(["userNotes": "tablet"]), edited(["userNotes": "phone"], at: 3000, version: 4))
    #expect(result.merged.fields["userNotes"] == "tablet")
    #expect(result.lost == [OverwrittenValue(field: "userNotes", side: .remote, value: "phone")])
    #expect(result.kind == .concurrentEdit)
    #expect(result.conflict == nil)
  }

  @Test("Two edits of a field without an owner are a conflict, and the local value stays visible")
  func aFieldWithoutAnOwnerIsAConflict() {
    let local = edited(["totalAmount": 13, "userNotes": "mine"])
    let remote = edited(["totalAmount": 14, "storeName": "B"], version: 4)
    let result = mergedReceipt(local, remote)
    #expect(result.conflict?.fields == ["totalAmount"])
    #expect(result.conflict?.kind == .concurrentEdit)
    #expect(result.conflict?.isAboutDeletion == false)
    #expect(result.merged.fields["totalAmount"] == 13, "the person's value stays visible")
    #expect(result.merged.fields["storeName"] == "B")
    #expect(!result.needsPush)
    #expect(result.needsApply)
  }

  @Test("Tags merge as a set although the user owns them") func tagsMergeAsASetAlthoughTheUserOwnsThem() {
    let result = mergedReceipt(edited(["userTags": ["garden"]]), edited(["userTags": ["home", "tax"]], version: 4))
    #expect(result.merged.fields["userTags"] == ["garden", "tax"])
    #expect(result.lost.isEmpty)
    #expect(result.conflict == nil)
  }

  @Test("A set that became null merges as an empty set") func aSetThatBecameNullIsEmpty() {
    let result = mergedReceipt(edited(["userTags": .null]), edited(["userTags": ["home", "tax"]], version: 4))
    #expect(result.merged.fields["userTags"] == ["tax"])
  }

  @Test("A computed field is computed again when its inputs come from both sides")
  func aComputedFieldIsComputedAgainWhenItsInputsComeFromBothSides() {
    let local = edited(["purchaseDate": "2026-02-05", "warrantyExpiryDate": "2027-02-05"])
    let remote = edited(["warrantyMonths": 24, "warrantyExpiryDate": "2028-01-05"], version: 4)
    let result = mergedReceipt(local, remote)
    #expect(result.fieldsToCompute == ["warrantyExpiryDate"])
    #expect(result.conflict == nil)
    #expect(result.lost.isEmpty)
    #expect(mergedReceipt(local, base).fieldsToCompute.isEmpty)
    #expect(mergedReceipt(base, remote).fieldsToCompute.isEmpty)
  }

  @Test("A device-only path is neither pushed nor overwritten") func aPathNeverLeavesTheDevice() {
    var local = edited(["localImagePaths": ["/a.jpg"]])
    var remote = edited(["localImagePaths": ["/elsewhere"], "storeName": "B"], version: 4)
    let result = mergedReceipt(local, remote)
    #expect(result.merged.fields["localImagePaths"] == ["/a.jpg"])
    #expect(!result.needsPush)
    local.fields["localImagePaths"] = nil
    remote.fields["storeName"] = "IKEA"
    #expect(mergedReceipt(local, remote).merged.fields["localImagePaths"] == nil)
  }

  // MARK: The edge cases of going offline

  /// Two devices edit different fields while both are offline.
  @Test("Edits of different fields both survive under each policy") func editsOfDifferentFieldsBothStand() {
    for policy in ConflictPolicy.allCases {
      let result = merged(edited(["userNotes": "tablet"]), edited(["storeName": "phone"], version: 4), policy)
      #expect(result.merged.fields["storeName"] == "phone")
      #expect(result.merged.fields["userNotes"] == "tablet")
      #expect(result.kind == nil)
      #expect(result.patchToPush.fields == ["userNotes": "tablet"])
    }
  }

  /// A batch that was made offline is pushed to a server that has no record of it, or has it from a push whose
  /// response was lost.
  @Test("A record that the server already has is no conflict") func aRecordThatIsThereAlreadyIsNotDisputed() {
    let mine = edited(["storeName": "A"])
    var there = mine
    there.syncVersion = 1
    let result = merge(
      base: nil, local: mine, remote: there, rules: Self.receipts, clock: MergeClock(serverNow: 9000))
    #expect(result.conflict == nil)
    #expect(!result.needsPush && !result.needsApply)
    #expect(result.merged.syncVersion == 1)
  }

  /// An image arrives later than its record: its key is added to those that other devices added.
  @Test("A late image key joins the keys from other devices") func anImageKeyThatComesLateJoinsTheOthers() {
    let result = mergedReceipt(edited(["imageKeys": ["late.jpg"]]), edited(["imageKeys": ["a.jpg"]], version: 4))
    #expect(result.merged.fields["imageKeys"] == ["a.jpg", "late.jpg"])
  }

  /// The server was away for days: all edits of one record have become one, and merge once.
  @Test("Edits of several days merge as one patch") func editsOfDaysMergeAtOnce() {
    let days = (1...5).map { day in
      RecordPatch(fields: ["userNotes": .text("day \(day)")], updatedAt: Int64(day) * 1000)
    }
    let local = days.reduce(base) { $0.applying($1) }
    let result = mergedReceipt(local, edited(["storeName": "B"], version: 4))
    #expect(result.patchToPush.fields == ["userNotes": "day 5"])
    #expect(result.patchToPush.updatedAt == 5000)
  }

  /// Clock skew: a device whose clock runs an hour ahead does not win by that.
  @Test("Edit times are corrected by the clock offset and capped at the server's clock") func aWrongClockWinsNothing() {
    let hour: Int64 = 3_600_000
    let local = edited(["storeName": "early"], at: 2000 + hour)
    let remote = edited(["storeName": "late"], at: 3000, version: 4)
    let corrected = merged(
      local, remote, .lastWriteWins, clock: MergeClock(serverNow: 9000, localOffset: -hour))
    #expect(corrected.merged.fields["storeName"] == "late")
    #expect(corrected.merged.updatedAt == 3000)
    // Not measured, it is still never later than the server's clock, and so loses to later edits.
    let capped = merged(local, remote, .lastWriteWins, clock: MergeClock(serverNow: 4000))
    #expect(capped.merged.fields["storeName"] == "early")
    #expect(capped.merged.updatedAt == 4000)
    let extreme = merged(
      edited(["storeName": "x"], at: .max), remote, .lastWriteWins,
      clock: MergeClock(serverNow: 4000, localOffset: .max))
    #expect(extreme.merged.updatedAt == 4000)
  }

  /// A new device has nothing: it takes all that the server has, and sends nothing.
  @Test("A new device takes the server's record and pushes nothing") func aNewDeviceTakesWhatTheServerHas() {
    let nothing = RecordState(fields: [:], updatedAt: 0)
    for policy in ConflictPolicy.allCases {
      let result = merge(
        base: nil, local: nothing, remote: base, rules: MergeRules(policy: policy), clock: MergeClock(serverNow: 9000))
      #expect(result.merged.hasContent(of: base))
      #expect(result.kind == nil)
      #expect(!result.needsPush && result.needsApply)
    }
  }

  /// Back from the cloud to the device and again to the cloud: the base is still known, and nothing is disputed anew.
  @Test("An edit in device mode merges with its base without a conflict")
  func whatWasEditedInDeviceModeMergesWithItsBase() {
    let result = mergedReceipt(edited(["totalAmount": 13]), base)
    #expect(result.patchToPush.fields == ["totalAmount": 13])
    #expect(result.kind == nil)
  }

  /// From the device to the cloud where another device has been before, without a base: equal fields are not disputed.
  @Test("Without a base only differing fields are in conflict") func withoutABaseOnlyDifferencesAreDisputed() {
    let result = merge(
      base: nil, local: edited(["totalAmount": 13]), remote: edited(["userNotes": "x"], version: 4),
      rules: Self.receipts, clock: MergeClock(serverNow: 9000))
    #expect(result.conflict?.fields == ["totalAmount"])
    #expect(result.merged.fields["userNotes"] == .null, "the device owns it")
    #expect(result.lost == [OverwrittenValue(field: "userNotes", side: .remote, value: "x")])
  }

  // MARK: Policies

  @Test(
    "Each policy decides a field that both sides changed",
    arguments: [
      (ConflictPolicy.manual, "local", true, [] as [MergeSide]),
      (.merge, "local", true, []),
      (.serverWins, "remote", false, [.local]),
      (.clientWins, "local", false, [.remote]),
      (.lastWriteWins, "remote", false, [.local]),
    ])
  func eachPolicyDecidesAboutAFieldThatBothChanged(
    policy: ConflictPolicy, value: String, isConflict: Bool, losers: [MergeSide]
  ) {
    let result = merged(
      edited(["storeName": "local"], at: 2000), edited(["storeName": "remote"], at: 2001, version: 4), policy)
    #expect(result.merged.fields["storeName"] == .text(value))
    #expect((result.conflict != nil) == isConflict)
    #expect(result.lost.map(\.side) == losers)
    #expect(result.kind == .concurrentEdit)
  }

  @Test("Edits at the same millisecond are decided by the text of the value") func aTieIsBrokenByTheTextOfTheValue() {
    let one = edited(["storeName": "a"])
    let other = edited(["storeName": "b"])
    #expect(merged(one, other, .lastWriteWins).merged.fields["storeName"] == "b")
    #expect(merged(other, one, .lastWriteWins).merged.fields["storeName"] == "b")
  }

  @Test("A deletion wins over an edit at the same millisecond and loses to a later edit")
  func atTheSameMillisecondADeletionWinsOverAnEdit() {
    let edit = edited(["storeName": "a"])
    let deletion = edited([:], isDeleted: true)
    #expect(merged(edit, deletion, .lastWriteWins).merged.isDeleted)
    #expect(merged(deletion, edit, .lastWriteWins).merged.isDeleted)
    #expect(!merged(deletion, edited(["storeName": "a"], at: 2001), .lastWriteWins).merged.isDeleted)
  }

  @Test("The same edit on both sides is no conflict") func theSameEditOnBothSidesIsNoDispute() {
    for policy in ConflictPolicy.allCases {
      let result = merged(edited(["totalAmount": 13]), edited(["totalAmount": .number(13)], version: 4), policy)
      #expect(result.kind == nil)
      #expect(!result.needsPush && !result.needsApply)
    }
  }

  @Test(
    "Each policy decides an edit of a record that was deleted remotely",
    arguments: [
      (ConflictPolicy.manual, true, nil as Bool?), (.merge, true, nil), (.serverWins, false, true),
      (.clientWins, false, false), (.lastWriteWins, false, false),
    ])
  func eachPolicyDecidesAboutAnEditOfWhatWasDeletedThere(policy: ConflictPolicy, isConflict: Bool, isDeleted: Bool?) {
    let result = merged(
      edited(["storeName": "mine"], at: 3000), edited([:], at: 2000, version: 4, isDeleted: true), policy)
    #expect((result.conflict != nil) == isConflict)
    #expect(result.kind == .deletedRemotely)
    #expect(result.conflict.map(\.isAboutDeletion) ?? true)
    if let isDeleted {
      #expect(result.merged.isDeleted == isDeleted)
      let lost =
        isDeleted
        ? OverwrittenValue(field: "storeName", side: .local, value: "mine")
        : OverwrittenValue(field: "isDeleted", side: .remote, value: true)
      #expect(result.lost == [lost])
    } else {
      #expect(!result.merged.isDeleted, "the person's edit stays visible")
    }
  }

  @Test("A local deletion against a remote edit is the conflict deleted_locally")
  func whatWasDeletedHereAndEditedThereIsOfTheOtherKind() {
    let result = merged(edited([:], isDeleted: true), edited(["storeName": "theirs"], version: 4), .merge)
    #expect(result.conflict?.kind == .deletedLocally)
    #expect(result.conflict?.fields == [])
    #expect(result.conflict?.isAboutDeletion == true)
  }

  @Test("A deletion of a record without edits stands under each policy") func aDeletionOfWhatNobodyEditedStands() {
    for policy in ConflictPolicy.allCases {
      #expect(merged(edited([:], isDeleted: true), base, policy).merged.isDeleted)
      #expect(merged(base, edited([:], isDeleted: true), policy).merged.isDeleted)
      #expect(merged(edited([:], isDeleted: true), base, policy).kind == nil)
    }
  }

  @Test("A value that no user entered does not conflict with a deletion")
  func aMachinesValueDoesNotStandAgainstADeletion() {
    let result = mergedReceipt(edited([:], isDeleted: true), edited(["extractedTotal": "13"], version: 4))
    #expect(result.conflict == nil)
    #expect(result.merged.isDeleted)
  }

  @Test("A reordered set is no edit against a deletion")
  func aSetInAnotherOrderDoesNotStandAgainstADeletion() {
    let rules = MergeRules(policy: .manual, fields: ["userTags": FieldRule(mergesAsSet: true)])
    let reordered = edited(["userTags": ["home", "home"]])
    let result = merge(
      base: base, local: reordered, remote: edited([:], version: 4, isDeleted: true), rules: rules,
      clock: MergeClock(serverNow: 9000))
    #expect(result.merged.isDeleted)
    #expect(result.kind == nil)
  }

  @Test("A deletion on both sides is no conflict") func whatBothDeletedAsksNobody() {
    for policy in ConflictPolicy.allCases {
      let result = merged(
        edited(["storeName": "a"], isDeleted: true), edited(["storeName": "b"], version: 4, isDeleted: true), policy)
      #expect(result.merged.isDeleted)
      #expect(result.conflict == nil)
    }
  }

  @Test("A side that lacks a column does not change that column") func aColumnThatOneSideDoesNotKnowIsNotChangedByIt() {
    var older = edited(["userNotes": "x"])
    older.fields["extractedTotal"] = nil
    let result = merged(older, edited(["extractedTotal": "13"], version: 4), .manual)
    #expect(result.kind == nil)
    #expect(result.merged.fields["extractedTotal"] == "13")
  }
}
