import CommandLineKit
import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The socket of the key agent of a vault, in a folder that only the user may enter.
struct AgentPlace {
  let folder: String
  let socket: String

  /// Finds the place of a vault's agent: below `XDG_RUNTIME_DIR`, which the system removes when the user logs out, or
  /// otherwise below `HOME`. Returns `nil` without both, and without a vault.
  /// - Parameter variable: returns the value of an environment variable.
  init?(vault: String, variable: (String) -> String? = { Terminal.variable($0) }) {
    var status = stat()
    guard stat(vault, &status) == 0 else { return nil }
    let places = [("XDG_RUNTIME_DIR", "fieldvault"), ("HOME", ".fieldvault")]
    let found = places.compactMap { name, folder in
      variable(name).flatMap { $0.hasPrefix("/") ? $0 + "/" + folder : nil }
    }
    guard let folder = found.first else { return nil }
    self.folder = folder
    // The numbers of the file system and of the folder name a vault by any of its paths, and fit into the short path of
    // a socket.
    socket = "\(folder)/\(String(UInt64(truncatingIfNeeded: status.st_dev), radix: 16))-\(status.st_ino).sock"
  }

  /// Whether the folder belongs to this user and nobody else may enter it.
  var isPrivate: Bool {
    var status = stat()
    return lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
      && status.st_mode & 0o077 == 0
  }

  /// Creates the folder if it is missing, and checks it.
  func prepareFolder() throws {
    if !Files.exists(folder) { try Files.makeFolder(folder) }
    guard isPrivate else {
      throw StartError(
        message: "\(folder) is not a folder that only you may enter", hint: "remove it, or run: chmod 700 \(folder)")
    }
  }

  /// Listens in the place of a former agent, whose process may have been killed.
  /// - Returns: the descriptor.
  func listen() throws -> Int32 {
    let new = "\(socket).\(getpid())"
    do {
      try Descriptor.remove(new)
      let listener = try LocalSocket.listen(at: new)
      do {
        // Clients see the former socket or the new one.
        try Files.rename(new, to: socket)
        return listener
      } catch {
        close(listener)
        unlink(new)
        throw error
      }
    } catch let error as FileError where error.number == ENAMETOOLONG {
      throw StartError(
        message: "the path of the key agent's socket is too long: \(socket)",
        hint: "set XDG_RUNTIME_DIR to a private folder with a shorter path")
    } catch let error as Descriptor.Failure {
      throw FileError("remove", new, error)
    }
  }

  /// The number of the file that the socket is; `nil` if it is missing. Another agent's socket has another number.
  static func identity(of socket: String) -> UInt64? {
    var status = stat()
    return lstat(socket, &status) == 0 ? UInt64(status.st_ino) : nil
  }
}
