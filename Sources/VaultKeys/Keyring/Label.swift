/// The rule for the labels of slots.
public enum Label {
  /// The longest label, in bytes of UTF-8.
  public static let maximumBytes = 200

  /// Returns whether a label may be stored. It must be short and safe to print on a terminal: without control
  /// characters and marks that change the direction of text.
  public static func isAcceptable(_ label: String) -> Bool {
    label.utf8.count <= maximumBytes && label.unicodeScalars.allSatisfy(isPrintable)
  }

  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F: false
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
    default: true
    }
  }

  static func check(_ label: String) throws(KeyError) {
    guard isAcceptable(label) else {
      throw KeyError(
        .badLabel, "the label is longer than \(maximumBytes) bytes or contains control characters",
        hint: "use a short name such as 'laptop' or 'office safe'")
    }
  }
}
