#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The little that the compiler asks and does in the file system.
public enum FileSystem {
  /// True for a folder that exists.
  public static func isFolder(_ path: String) -> Bool {
    var isFolder = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder
  }

  /// Writes a file, unless it has this text already, so that its dependents are not built again.
  /// - Returns: whether the file was written.
  @discardableResult
  public static func update(_ path: String, text: String) throws -> Bool {
    if let present = FileManager.default.contents(atPath: path), present == Data(text.utf8) { return false }
    try Data(text.utf8).write(to: URL(filePath: path))
    return true
  }
}
