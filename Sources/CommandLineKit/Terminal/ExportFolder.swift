import Platform

/// A folder that is written under another name beside its path. It appears there completely, by one rename, or not at all. The
/// remains of a killed process are removed by the next export to the same path.
///
/// For one thread at a time.
public final class ExportFolder {
  private let path: String
  private let draft: String
  private let lock: OpenFile
  private var open: [String: OpenFile] = [:]
  /// The number of lines that were appended.
  public private(set) var lineCount = 0

  private static let lockName = ".exporting"
  /// The folder of files within the folder.
  private static let filesName = "files"

  /// Creates the folder, without files.
  /// - Throws: `FileError`, also if the path is not a missing or empty folder, or if another process exports to it.
  public init(at path: String) throws {
    self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    draft = self.path + ".part"
    if Files.exists(self.path) {
      guard Files.isFolder(self.path) else { throw Self.refusal(self.path, "it is no folder") }
      guard try Files.names(in: self.path).isEmpty else { throw Self.refusal(self.path, "the folder is not empty") }
    }
    let lockPath = "\(draft)/\(Self.lockName)"
    if Files.exists(draft) {
      guard Files.exists(lockPath) else {
        throw Self.refusal(self.path, "\(draft) exists, which an export writes first")
      }
      // Held until the remains are removed, so that a running process keeps its own.
      let old = try OpenFile(reading: lockPath)
      guard old.lock() else { throw Self.refusal(self.path, "another export is running there") }
      try Files.removeTree(draft)
      withExtendedLifetime(old) {}
    }
    try Files.makeFolder(draft)
    lock = try OpenFile(creating: lockPath)
    guard lock.lock() else { throw Self.refusal(self.path, "another export is running there") }
  }

  private static func refusal(_ path: String, _ reason: String) -> FileError {
    FileError(.cannotWrite, "cannot export to \(path): \(reason); choose a new or empty folder", path: path)
  }

  /// Appends a line to a file, which is created if it is missing.
  /// - Throws: `FileError`.
  public func append(_ line: String, to name: String) throws {
    let file: OpenFile
    if let known = open[name] {
      file = known
    } else {
      file = try OpenFile(creating: "\(draft)/\(name)")
      open[name] = file
    }
    try file.write(Array(line.utf8) + [0x0A])
    lineCount += 1
  }

  /// Removes lines of a file.
  /// - Parameter isKept: receives a line without its end.
  /// - Throws: the error of `isKept`; `FileError`.
  public func filter(_ name: String, _ isKept: ([UInt8]) throws -> Bool) throws {
    guard open[name] != nil else { return }
    let (source, target) = ("\(draft)/\(name)", "\(draft)/\(name).new")
    let (reader, writer) = (try OpenFile(reading: source), try OpenFile(creating: target))
    var rest: [UInt8] = []
    while true {
      let part = try reader.part()
      if part.isEmpty { break }
      rest += part
      guard let end = rest.lastIndex(of: 0x0A) else { continue }
      for line in rest[..<end].split(separator: 0x0A) {
        if try isKept(Array(line)) { try writer.write(Array(line) + [0x0A]) } else { lineCount -= 1 }
      }
      rest = Array(rest[(end + 1)...])
    }
    try Files.rename(target, to: source)
    open[name] = writer
  }

  /// Returns the path for a new file with a name.
  /// - Throws: `FileError`.
  public func path(ofFile name: String) throws -> String {
    let folder = "\(draft)/\(Self.filesName)"
    if !Files.exists(folder) { try Files.makeFolder(folder) }
    return "\(folder)/\(name)"
  }

  /// Moves the folder to its path, durably.
  /// - Throws: `FileError`, also if another process has put something there; ``abandon()`` removes the rest.
  public func publish() throws {
    for file in open.values { try file.synchronize() }
    open = [:]
    try Files.removeTree("\(draft)/\(Self.lockName)")
    let files = "\(draft)/\(Self.filesName)"
    if Files.exists(files) { try Files.syncFolder(files) }
    try Files.syncFolder(draft)
    try Files.rename(draft, to: path)
    try Files.syncFolder(Files.parent(of: path))
  }

  /// Removes all that was written, after a failure. The failure counts: if the removal fails too, the next export to the same path
  /// removes the rest.
  public func abandon() {
    open = [:]
    try? Files.removeTree(draft)
  }
}

extension OpenFile {
  /// Returns the next bytes of the file, at most 1 MiB; none at its end.
  fileprivate func part() throws -> [UInt8] {
    var failure: FileError?
    let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
      do throws(FileError) { count = try fill(UnsafeMutableRawBufferPointer(buffer)) } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }
}
