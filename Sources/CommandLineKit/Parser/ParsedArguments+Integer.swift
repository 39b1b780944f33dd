extension ParsedArguments {
  /// The value as a whole number, or nil when it was not given.
  public func integer(_ name: String) throws(UsageError) -> Int? {
    try integer(name, from: .min, to: .max)
  }

  /// The value as a whole number of at least the bound.
  public func integer(_ name: String, in range: PartialRangeFrom<Int>) throws(UsageError) -> Int? {
    try integer(name, from: range.lowerBound, to: .max)
  }

  /// The value as a whole number between the bounds.
  public func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    try integer(name, from: range.lowerBound, to: range.upperBound)
  }

  /// All values as whole numbers of at least the bound, such as the ids of a list.
  public func integers(_ name: String, in range: PartialRangeFrom<Int>) throws(UsageError) -> [Int] {
    var numbers: [Int] = []
    for text in values(name) { numbers.append(try number(text, name, range.lowerBound, .max)) }
    return numbers
  }

  private func integer(_ name: String, from low: Int, to high: Int) throws(UsageError) -> Int? {
    guard let text = value(name) else { return nil }
    return try number(text, name, low, high)
  }

  private func number(_ text: String, _ name: String, _ low: Int, _ high: Int) throws(UsageError) -> Int {
    if let number = Int(text), (low...high).contains(number) { return number }
    let bounds =
      switch (low, high) {
      case (.min, .max): ""
      case (_, .max): " from \(low)"
      default: " from \(low) to \(high)"
      }
    let shown = isSecret(name) ? "" : ", not '\(escaped(text))'"
    throw mistake("\(spelled(name)) is a whole number\(bounds)\(shown)", about: name)
  }
}
