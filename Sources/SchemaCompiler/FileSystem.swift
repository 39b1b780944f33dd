#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The file system operations of the compiler.
public enum FileSystem {
  /// Returns whether a path is an existing folder.
  public static func isFolder(_ path: String) -> Bool {
    var isFolder = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder
  }

  /// Writes a file unless it already has this text, so that its dependents are not rebuilt.
  /// - Returns: whether the file was written.
  @discardableResult
  public static func update(_ path: String, text: String) throws -> Bool {
    if let present = FileManager.default.contents(atPath: path), present == Data(text.utf8) { return false }
    try Data(text.utf8).write(to: URL(filePath: path))
    return true
  }
}
