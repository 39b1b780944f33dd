import Platform

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Reads and writes `keyring.json`.
public enum KeyringFile {
  /// Reads the keyring at `path`. Does not try any key.
  ///
  /// - Throws: ``KeyError`` `notFound`, `unreadable`, and the errors of ``Keyring/init(parsing:)``, all naming the
  ///   path.
  public static func read(at path: String) throws(KeyError) -> Keyring {
    let content = try content(of: path)
    do {
      return try Keyring(parsing: content)
    } catch {
      throw error.naming(path)
    }
  }

  /// Replaces the keyring at `path`, or creates it.
  ///
  /// When the call returns, the new keyring is on the disk. **After a crash** the file is the old or the new keyring,
  /// never a mixture. One rename commits the change, and so it also commits a rotation. Hold the vault's lock.
  ///
  /// - Throws: ``KeyError`` `noSpace` or `cannotWrite`. The old keyring is unchanged, unless only the flush of the
  ///   folder failed.
  public static func write(_ keyring: Keyring, at path: String) throws(KeyError) {
    try keyring.serialized().withBytes { bytes throws(KeyError) in
      do throws(FileError) { try AtomicFile(path).replace(with: bytes) } catch { throw .writing(error) }
    }
  }

  /// Writes the keyring of a new vault, in the same way.
  ///
  /// - Throws: ``KeyError`` `alreadyExists` if the path exists, and the errors of ``write(_:at:)``.
  public static func create(_ keyring: Keyring, at path: String) throws(KeyError) {
    try keyring.serialized().withBytes { bytes throws(KeyError) in
      do throws(FileError) { try AtomicFile(path).create(bytes) } catch { throw .writing(error) }
    }
  }

  private static func content(of path: String) throws(KeyError) -> [UInt8] {
    do throws(Descriptor.Failure) {
      // Without O_NONBLOCK a pipe of that name would be waited for.
      let file = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
      if try file.isRegular() { return try wholeContent(of: file) }
    } catch {
      throw .reading(path, error)
    }
    throw KeyError(.unreadable, "\(path): not a file", hint: "name the keyring.json of a vault")
  }

  /// Reads a file up to the largest allowed size. The parser refuses a larger file.
  private static func wholeContent(of file: borrowing Descriptor) throws(Descriptor.Failure) -> [UInt8] {
    var content: [UInt8] = []
    while content.count <= Keyring.maximumBytes {
      let chunk = try file.chunk(atMost: 1 << 16)
      if chunk.isEmpty { break }
      content += chunk
    }
    return content
  }
}
