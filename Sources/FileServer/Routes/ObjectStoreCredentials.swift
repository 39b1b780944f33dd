import CSodium
import Platform
import ServerStorage
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The credentials of the server at the object store.
public struct ObjectStoreCredentials: Sendable {
  /// The id of the access key; not secret.
  public let accessKeyId: String
  /// `AWS4` and the secret access key.
  let firstKey: SecureBytes

  static let greatestBytes = 4_096

  /// Creates credentials from their parts, and wipes the secret.
  public init(accessKeyId: String, wipingSecret secret: inout [UInt8]) throws(KeyError) {
    self.accessKeyId = accessKeyId
    let prefix = Array("AWS4".utf8)
    firstKey = try SecureBytes(count: prefix.count + secret.count) { target in
      target.copyBytes(from: prefix)
      UnsafeMutableRawBufferPointer(rebasing: target[prefix.count...]).copyBytes(from: secret)
    }
    sodium_memzero(&secret, secret.count)
  }

  /// Reads a file of two lines: the access key id and the secret access key. Only its owner may have the permission to
  /// read it.
  /// - Throws: ``ServerError`` with `badObjectStore`; `KeyError` without lockable memory.
  public init(file path: String) throws {
    var content = try SecretFile.content(of: path, errors: .badObjectStore, limit: Self.greatestBytes)
    defer { sodium_memzero(&content, content.count) }
    let lines = content.split { $0 == 0x0A || $0 == 0x0D }
    let isPlain = lines.allSatisfy { $0.allSatisfy { (0x21...0x7E).contains($0) } }
    guard lines.count == 2, isPlain, content.count <= Self.greatestBytes else {
      throw Self.error(
        "\(path) contains no credentials", "the file needs two lines: the access key id and the secret access key")
    }
    var secret = Array(lines[1])
    try self.init(accessKeyId: String(decoding: lines[0], as: UTF8.self), wipingSecret: &secret)
  }

  private static func error(_ message: String, _ hint: String) -> ServerError {
    ServerError(.badObjectStore, message, hint: hint)
  }
}

/// A small file with a secret, which only its owner may have the permission to read.
package enum SecretFile {
  /// Returns the content of a file. The caller wipes it.
  /// - Parameters:
  ///   - code: the code of errors.
  ///   - limit: the greatest number of bytes; one more is returned of a larger file.
  package static func content(
    of path: String, errors code: ServerError.Code, limit: Int
  ) throws(ServerError) -> [UInt8] {
    var status = stat()
    var content: [UInt8] = []
    do throws(Descriptor.Failure) {
      let file = try Descriptor(opening: path, O_RDONLY)
      guard fstat(file.number, &status) == 0 else { throw .last }
      while content.count <= limit {
        let chunk = try file.chunk(atMost: limit + 1)
        if chunk.isEmpty { break }
        content += chunk
      }
    } catch {
      throw ServerError(code, "cannot read \(path): \(error.text)", hint: "check the path of the file")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw ServerError(code, "other users may read \(path)", hint: "chmod 600 \(path)")
    }
    return content
  }
}
