/// The action of a foreign key when the referenced record is deleted.
public enum ReferenceAction: String, CaseIterable, Sendable {
  /// ON DELETE CASCADE.
  case cascade
  /// ON DELETE SET NULL.
  case setNull
  /// ON DELETE SET DEFAULT.
  case setDefault
  /// ON DELETE RESTRICT or NO ACTION.
  case restrict

  /// The default of a reference.
  public enum Default: CaseIterable, Sendable {
    /// NULL, which references no record.
    case null
    /// A record that is not deleted and stays.
    case liveRecord
    /// A record that is deleted, is deleted in the same cascade, or never existed.
    case missingRecord
  }

  /// The effect of a deletion on a record that references the deleted one.
  public enum Effect: Sendable {
    case none
    /// The dependent is deleted as well.
    case deletes
    /// The dependent stays, and its reference becomes NULL.
    case empties
    /// The dependent stays, and its reference gets the default.
    case setsDefault
    /// The record must not be deleted.
    case refuses
  }

  /// Returns the effect of a deletion on a record that references the deleted one.
  /// - Parameters:
  ///   - goes: whether the dependent is deleted, including by another reference of the same deletion.
  ///   - default: the value of its reference under SET DEFAULT.
  public func effect(goes: Bool, default: Default = .null) -> Effect {
    if goes { return .none }
    return switch (self, `default`) {
    case (.cascade, _): .deletes
    case (.setNull, _), (.setDefault, .null): .empties
    case (.setDefault, .liveRecord): .setsDefault
    case (.setDefault, .missingRecord), (.restrict, _): .refuses
    }
  }
}
