import Foundation
import TestSupport

#if os(Linux)
  /// The kernel's data about other processes.
  enum Processes {
    /// The only child of a process.
    static func child(of process: pid_t) throws -> pid_t {
      let children = try content("/proc/\(process)/task/\(process)/children").split(separator: " ").compactMap {
        pid_t($0)
      }
      guard children.count == 1 else { throw Unexpected("\(children.count) children") }
      return children[0]
    }

    /// A file of `/proc`, its words one a line.
    static func content(_ path: String) throws -> String {
      guard let bytes = FileManager.default.contents(atPath: path) else { throw Unexpected("cannot read \(path)") }
      return String(decoding: bytes.map { $0 == 0 ? 0x0a : $0 }, as: UTF8.self)
    }
  }
#endif
