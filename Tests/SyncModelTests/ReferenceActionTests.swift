import Testing

@testable import SyncModel

@Suite struct ReferenceActionTests {
  @Test("A deletion has the effect on a record that stays which its foreign key says")
  func effects() {
    typealias Default = ReferenceAction.Default
    let expected: [(ReferenceAction, Default, ReferenceAction.Effect)] = [
      (.cascade, .null, .deletes), (.cascade, .liveRecord, .deletes), (.cascade, .missingRecord, .deletes),
      (.setNull, .null, .empties), (.setNull, .liveRecord, .empties), (.setNull, .missingRecord, .empties),
      (.setDefault, .null, .empties), (.setDefault, .liveRecord, .setsDefault), (.setDefault, .missingRecord, .refuses),
      (.restrict, .null, .refuses), (.restrict, .liveRecord, .refuses), (.restrict, .missingRecord, .refuses),
    ]
    #expect(expected.count == ReferenceAction.allCases.count * Default.allCases.count)
    for (action, standard, effect) in expected {
      #expect(action.effect(goes: false, default: standard) == effect, "\(action) \(standard)")
      // A record that goes as well stands in no deletion's way and is not changed.
      #expect(action.effect(goes: true, default: standard) == .none, "\(action) \(standard)")
    }
  }
}
