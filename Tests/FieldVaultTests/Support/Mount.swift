import Foundation
import TestSupport

/// A file system of the test's own; it goes with the object.
final class Mount {
  /// Whether this process may mount at all: it is root, and no container forbids it.
  static let isPossible: Bool = {
    guard isRoot, let folder = try? Workshop(vault: false) else { return false }
    return (try? Mount(at: folder.path("probe"), size: "1m")) != nil
  }()

  private let folder: String

  /// Mounts an empty file system in memory.
  init(at folder: String, size: String) throws {
    self.folder = folder
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Self.call("mount", ["-t", "tmpfs", "-o", "size=\(size)", "fieldvault-test", folder])
  }

  deinit { try? Self.call("umount", [folder]) }

  func makeReadOnly() throws { try Self.call("mount", ["-o", "remount,ro", folder]) }

  private static func call(_ name: String, _ arguments: [String]) throws {
    guard let path = tool(name) else { throw Unexpected("there is no \(name)") }
    let ran = try run(path, arguments)
    guard ran.status == 0 else { throw Unexpected("\(name): \(ran.errors)") }
  }
}
