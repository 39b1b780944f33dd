import Foundation

private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent().path

/// Returns the path of a file of the package, such as `Tests/Data/rocket.jpg`.
package func packagePath(_ file: String) -> String { root + "/" + file }
