import CipherSQL
import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The extension that holds the sqlcipher shell to the rules for statements: the product `FieldVaultShellGuard`.
///
/// The extension is searched for beside the program, never at a path from an environment variable, because the shell
/// runs its code.
enum ShellGuard {
  static let entryPoint = "fieldvault_shell_guard_init"

  #if canImport(Darwin)
    static let fileName = "libFieldVaultShellGuard.dylib"
  #else
    static let fileName = "libFieldVaultShellGuard.so"
  #endif

  /// The path of the extension: in the folder of the program, in the folder `lib` next to it, or in `lib/fieldvault`, where a
  /// package installs it.
  static func path() throws(StartError) -> String {
    guard let resolved = cplatform_program_path() else {
      throw StartError(
        message: "cannot find the folder of the program: \(String(cString: strerror(errno)))")
    }
    defer { free(resolved) }
    let folder = String(cString: resolved).split(separator: "/").dropLast().map { String($0) }
    let library = Array(folder.dropLast()) + ["lib"]
    let places = [folder, library, library + ["fieldvault"]].map { "/" + ($0 + [fileName]).joined(separator: "/") }
    guard let place = places.first(where: { access($0, R_OK) == 0 }) else {
      throw StartError(
        message:
          "the guard extension for the sqlcipher shell is missing: \(places.joined(separator: " or "))",
        hint: "build it with 'swift build -c release --product FieldVaultShellGuard' and copy it there")
    }
    return place
  }

  /// Returns the lines of a start-up file that load the extension and name the schema objects of the vault.
  static func lines(loading path: String, protecting names: [String]) -> [String] {
    let json = names.map { name in "\"" + name.unicodeScalars.map(escaped).joined() + "\"" }.joined(separator: ",")
    let text = json.replacingQuotes
    return [
      ".load \"\(quoted(path))\" \(entryPoint)", "SELECT fieldvault_protect(value) FROM json_each('[\(text)]');",
    ]
  }

  private static func escaped(_ scalar: Unicode.Scalar) -> String {
    guard scalar.value < 0x20 || scalar == "\"" || scalar == "\\" else { return String(scalar) }
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }

  /// A path for the double quotes of a shell command, which reads octal escapes.
  private static func quoted(_ path: String) -> String {
    path.utf8.reduce(into: "") { text, byte in
      if byte > 0x20, byte < 0x7f, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 8)
        text += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
      }
    }
  }
}
