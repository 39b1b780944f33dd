/// Names with values, each name once, in the order of RFC 8785, so that equal content has one form.
///
/// Names are compared by code unit. Two spellings of "é" are two names, as in JSON, but equal strings in Swift. A
/// `Dictionary` is therefore not suitable.
public struct SyncObject: Equatable, Sendable {
  /// A name and its value.
  public struct Member: Sendable {
    /// The name.
    public let name: String
    /// The value of a name.
    public let value: SyncValue

    package init(name: String, value: SyncValue) {
      self.name = name
      self.value = value
    }
  }

  /// The members, ordered by the UTF-16 code units of the names.
  public private(set) var members: [Member]

  /// Creates an object without members.
  public init() { members = [] }

  /// Creates an object. Of two equal names the last counts.
  public init(_ elements: some Sequence<(String, SyncValue)>) {
    members = []
    for (name, value) in elements { self[name] = value }
  }

  /// Creates an object from ordered members with distinct names.
  package init(ordered members: [Member]) { self.members = members }

  /// The names, ordered.
  public var names: [String] { members.map(\.name) }
  /// Whether the object has no members.
  public var isEmpty: Bool { members.isEmpty }
  /// The number of members.
  public var count: Int { members.count }

  /// The value of a name; `nil` means absent, `SyncValue.null` means null. Assigning `nil` removes the name.
  public subscript(name: String) -> SyncValue? {
    get {
      let place = place(of: name)
      return place.isFound ? members[place.index].value : nil
    }
    set {
      let place = place(of: name)
      switch (place.isFound, newValue) {
      case (true, let value?): members[place.index] = Member(name: name, value: value)
      case (false, let value?): members.insert(Member(name: name, value: value), at: place.index)
      case (true, nil): members.remove(at: place.index)
      case (false, nil): break
      }
    }
  }

  /// Returns the members that another object lacks or has with another value.
  func differing(from other: SyncObject) -> SyncObject {
    var index = 0
    return filter { member in
      // Both are ordered, so one walk finds all.
      while index < other.members.count {
        let candidate = other.members[index]
        switch UTF16Order.compare(candidate.name, member.name) {
        case .before: index += 1
        case .same: return candidate.value != member.value
        case .after: return true
        }
      }
      return true
    }
  }

  /// Returns the members whose names meet a condition.
  public func filter(_ isKept: (Member) -> Bool) -> SyncObject {
    SyncObject(ordered: members.filter(isKept))
  }

  /// Returns this object overlaid with the members of another one.
  public func overlaid(with other: SyncObject) -> SyncObject {
    if isEmpty { return other }
    var result = self
    for member in other.members { result[member.name] = member.value }
    return result
  }

  /// Returns whether both objects have the same names, byte by byte, and equal values.
  public static func == (left: SyncObject, right: SyncObject) -> Bool {
    left.members.elementsEqual(right.members) { $0.name.hasBytes(of: $1.name) && $0.value == $1.value }
  }

  private func place(of name: String) -> (index: Int, isFound: Bool) {
    var low = 0
    var high = members.count
    // Objects are mostly made name by name, in order.
    if let last = members.last, UTF16Order.compare(last.name, name) == .before { return (high, false) }
    while low < high {
      let middle = (low + high) / 2
      switch UTF16Order.compare(members[middle].name, name) {
      case .before: low = middle + 1
      case .same: return (middle, true)
      case .after: high = middle
      }
    }
    return (low, false)
  }
}

extension SyncObject: ExpressibleByDictionaryLiteral {
  /// Creates an object. Of two equal names the last counts.
  public init(dictionaryLiteral elements: (String, SyncValue)...) { self.init(elements) }
}

extension SyncObject {
  /// Parses a JSON object. Any other JSON results in an empty object.
  package init(parsing json: String) throws(SyncModelError) {
    guard case .object(let object) = try SyncValue(parsing: json) else { self = [:]; return }
    self = object
  }

  /// Returns the text of a member; `nil` if the member is absent or not a text.
  package func text(_ name: String) -> String? {
    if case .text(let text)? = self[name] { return text }
    return nil
  }
}

extension String {
  /// Returns whether two texts have the same bytes. `==` also equates texts that only Unicode normalisation makes equal.
  func hasBytes(of other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    let isEqual = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
    }
    return (isEqual ?? nil) ?? utf8.elementsEqual(other.utf8)
  }
}
