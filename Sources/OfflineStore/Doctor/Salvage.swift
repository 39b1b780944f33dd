/// Reads what can be read of a damaged vault into a new one beside it.
struct Salvage {
  static func stem(of name: String) -> String { name.hasSuffix(".vault") ? String(name.dropLast(6)) : name }
}
