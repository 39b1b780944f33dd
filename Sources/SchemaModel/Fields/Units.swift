import CipherSQL

/// The units of numbers, read from the comments of a schema.
package enum Units {
  /// The phrases of comments, each with its symbol. Longer phrases precede the phrases that they contain.
  private static let phrases: [(phrase: String, symbol: String)] = [
    ("grains of water per pound of dry air", "gr/lb"), ("pounds per square inch", "psi"),
    ("degrees Fahrenheit", "°F"), ("degrees Celsius", "°C"), ("inches of mercury", "inHg"),
    ("minutes of angle", "MOA"), ("feet per second", "ft/s"), ("metres per second", "m/s"),
    ("meters per second", "m/s"), ("kilometres per hour", "km/h"), ("kilometers per hour", "km/h"),
    ("miles per hour", "mph"), ("litres per minute", "l/min"), ("liters per minute", "l/min"),
    ("cubic feet per minute", "ft³/min"), ("cubic feet", "ft³"), ("cubic metres", "m³"), ("cubic meters", "m³"),
    ("square feet", "sq ft"), ("square metres", "m²"), ("square meters", "m²"), ("milliradians", "mrad"),
    ("kilograms", "kg"), ("kilometres", "km"), ("kilometers", "km"), ("millimetres", "mm"), ("millimeters", "mm"),
    ("centimetres", "cm"), ("centimeters", "cm"), ("milliseconds", "ms"), ("millibars", "mbar"),
    ("hectopascals", "hPa"), ("kilopascals", "kPa"), ("percent", "%"), ("degrees", "°"), ("inches", "in"),
    ("yards", "yd"), ("miles", "mi"), ("metres", "m"), ("meters", "m"), ("litres", "l"), ("liters", "l"),
    ("gallons", "gal"), ("grains", "gr"), ("grams", "g"), ("pounds", "lb"), ("ounces", "oz"), ("pixels", "px"),
    ("bytes", "bytes"), ("seconds", "s"), ("minutes", "min"), ("hours", "h"), ("days", "days"), ("volts", "V"),
    ("amperes", "A"), ("watts", "W"), ("hertz", "Hz"), ("decibels", "dB"), ("pascals", "Pa"), ("feet", "ft"),
    ("°F", "°F"), ("°C", "°C"), ("%", "%"),
  ]

  /// Returns the symbol of the unit that the comment of a numeric column names; `nil` without one.
  ///
  /// If the comment names several units, the unit whose phrase comes first in the list counts.
  package static func unit(of column: Catalog.Column) -> String? {
    guard [.integer, .real].contains(column.type), let text = column.documentation else { return nil }
    return phrases.first { contains(text, $0.phrase) }?.symbol
  }

  /// Returns whether a text contains a phrase as whole words.
  private static func contains(_ text: String, _ phrase: String) -> Bool {
    text.ranges(of: phrase).contains { range in
      let before = range.lowerBound > text.startIndex ? text[text.index(before: range.lowerBound)] : " "
      let after = range.upperBound < text.endIndex ? text[range.upperBound] : " "
      return !before.isLetter && !after.isLetter
    }
  }
}
