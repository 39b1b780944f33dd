#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A folder for the files of one process. `scripts/fuzz` sets `TMPDIR` to a folder that it removes after the run.
public struct ScratchFolder: Sendable {
  /// The folder, without a slash at the end.
  public let path: String

  /// Makes the folder.
  public init() {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var name = Array("\(parent)/fieldvault-fuzz-XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { fatalError("cannot make a folder in \(parent)") }
    path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Writes a file in the folder and returns its path.
  public func write(_ bytes: [UInt8], to name: String) -> String {
    let target = path + "/" + name
    guard let file = fopen(target, "w") else { fatalError("cannot write \(target)") }
    defer { fclose(file) }
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { fatalError("cannot write \(target)") }
    return target
  }

  /// Makes a folder in the folder.
  public func makeFolder(_ name: String) {
    guard mkdir(path + "/" + name, 0o700) == 0 else { fatalError("cannot make \(name)") }
  }

  /// Removes a file of the folder.
  public func remove(_ name: String) { unlink(path + "/" + name) }

  /// The bytes of a file of the folder.
  public func content(of name: String) -> [UInt8] {
    guard let file = fopen(path + "/" + name, "r") else { fatalError("cannot read \(name)") }
    defer { fclose(file) }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      guard count > 0 else { return content }
      content += buffer.prefix(count)
    }
  }
}
