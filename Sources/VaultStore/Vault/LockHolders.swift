import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The holders of a file lock.
enum LockHolders {
  #if os(Linux)
    /// Returns the other processes that hold a lock on the file of a descriptor, as proc_locks(5) lists them; empty
    /// if the list cannot be read.
    static func names(of descriptor: Int32, withThisProcess: Bool = true) -> [String] {
      var status = stat()
      guard fstat(descriptor, &status) == 0, let list = text(of: "/proc/locks") else { return [] }
      // `7: FLOCK  ADVISORY  READ 1234 fd:01:393228 0 EOF`: the device in hexadecimal, the inode in decimal digits.
      let inode = ":\(status.st_ino)"
      var names: [String] = []
      for line in list.split(separator: "\n") {
        let words = line.split(separator: " ")
        guard words.count >= 6, words[1] == "FLOCK", words[5].hasSuffix(inode), let process = Int32(words[4]) else {
          continue
        }
        if process == getpid(), !withThisProcess { continue }
        let name = process == getpid() ? "another part of this program" : describe(process)
        if !names.contains(name) { names.append(name) }
      }
      return names
    }

    private static func describe(_ process: Int32) -> String {
      guard let name = text(of: "/proc/\(process)/comm")?.split(separator: "\n").first else {
        return "process \(process)"
      }
      return "\(name) (process \(process))"
    }

    /// Returns the beginning of a file of the system, at most 1 MiB.
    private static func text(of path: String) -> String? {
      let descriptor = cplatform_open(path, O_RDONLY | O_CLOEXEC, 0)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      var bytes: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 64 << 10)
      while bytes.count < 1 << 20 {
        let count = read(descriptor, &part, part.count)
        guard count > 0 else { break }
        bytes += part[..<count]
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  #else
    /// The system does not list the holders of locks.
    static func names(of descriptor: Int32, withThisProcess: Bool = true) -> [String] { [] }
  #endif
}
