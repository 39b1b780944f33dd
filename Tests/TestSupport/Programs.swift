import Foundation

/// Returns the path of a tool, or nil where the tool is not installed.
package func tool(_ name: String) -> String? {
  let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
  return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// Returns the path of a program of the package. The build puts it beside the bundle of the tests.
package func builtProgram(_ name: String) throws -> String {
  var places = [Bundle.main.bundlePath, CommandLine.arguments[0], "/proc/self/exe"]
  places += CommandLine.arguments.filter { $0.hasSuffix(".xctest") }
  for place in places {
    var folder = URL(fileURLWithPath: place).resolvingSymlinksInPath()
    for _ in 0..<5 {
      let candidate = folder.appendingPathComponent(name).path
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: candidate, isDirectory: &isFolder), !isFolder.boolValue,
        FileManager.default.isExecutableFile(atPath: candidate)
      {
        return candidate
      }
      folder.deleteLastPathComponent()
    }
  }
  throw Unexpected("no program \(name) beside \(places); build it first")
}
