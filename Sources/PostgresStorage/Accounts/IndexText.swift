import CSodium
import Platform

/// The form in which an index holds a text from records. An entry of a PostgreSQL index has a limited size, and a text of
/// PostgreSQL has no character U+0000.
enum IndexText {
  /// The longest text that is stored as it is, in bytes.
  private static let limit = 200

  /// Returns a short text as it is, and `#` with the BLAKE2b digest of any other. Different texts have different forms.
  static func of(_ text: String) -> String {
    let utf8 = text.utf8
    if utf8.count <= limit, utf8.first != UInt8(ascii: "#"), !utf8.contains(0) { return text }
    let bytes = Array(utf8)
    var digest = [UInt8](repeating: 0, count: 32)
    _ = crypto_generichash(&digest, digest.count, bytes, UInt64(bytes.count), nil, 0)
    return "#" + HexText.text(digest)
  }
}
