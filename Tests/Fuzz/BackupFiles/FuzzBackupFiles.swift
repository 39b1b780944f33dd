import FuzzSupport
import Platform
import VaultKeys

@testable import VaultStore

/// A backup is restored or refused with a typed error, and a refused one leaves nothing behind. The input is a list of messages,
/// which are sealed as a program with the key would seal them: what it is (one byte, the highest bit for the last one), how long
/// its content is (one byte), how much is attached (one byte), content and attachment. Behind FF the rest is the file itself.
@main
enum FuzzBackupFiles: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    do {
      let file = bytes.first == 0xff ? Array(bytes.dropFirst()) : try sealed(bytes)
      let path = scratch.write(file, to: "backup")
      read(path, size: file.count)
      restore(path)
    } catch {
      fatalError("sealing a backup: \(error)")
    }
  }

  /// Reads a backup to its end.
  private static func read(_ path: String, size: Int) {
    do {
      let reader = try BackupReader(try OpenFile(reading: path))
      try reader.begin(key: try keys.backupKey())
      var content = 0
      while true {
        switch try reader.next() {
        case .file(let name, let size):
          require(BackupFormat.isAcceptable(name), "name \(name)")
          require(!name.hasPrefix("/") && !name.contains(".."), "\(name) stays in the vault")
          require(size >= 0, "size \(size)")
        case .content(let bytes): content += bytes.count
        case .end: return
        }
        require(content <= size, "no more comes out than went in")
      }
    } catch is VaultError {
    } catch is KeyError {
    } catch {
      fatalError("a backup fails with another error: \(error)")
    }
  }

  private static func restore(_ path: String) {
    let target = scratch.path + "/restored"
    do {
      try Vault.restore(path, to: target, with: secret)
      fatalError("a backup without a database is restored")
    } catch {
      require("\(type(of: error))".hasSuffix("Error"), "a typed error: \(error)")
      do {
        require(try Files.names(in: scratch.path) == ["backup"], "a refused backup leaves nothing behind")
      } catch {
        fatalError("\(error)")
      }
    }
  }

  private static func sealed(_ bytes: [UInt8]) throws -> [UInt8] {
    let ring = keys.keyring.serialized()
    var beginning = BackupFormat.magic + BackupFormat.bytes(ring.count) + ring
    let stream = try SealingStream(key: try keys.backupKey())
    var file = beginning + stream.header
    var input = FuzzInput(bytes)
    while !input.isEmpty {
      let kind = input.byte()
      let (count, attachedCount) = (Int(input.byte()), Int(input.byte()))
      let plain = [kind & 0x7f] + input.bytes(count)
      let attached = input.bytes(attachedCount)
      var message = [UInt8](repeating: 0, count: plain.count + SealingStream.overhead)
      (attached.isEmpty ? beginning : attached).withUnsafeBytes { associated in
        plain.withUnsafeBytes { plain in
          message.withUnsafeMutableBytes {
            stream.seal(plain, into: $0, associated: associated, isFinal: kind >= 0x80)
          }
        }
      }
      beginning = []
      file += BackupFormat.bytes(message.count) + BackupFormat.bytes(attached.count) + message + attached
    }
    return file
  }

  private static let scratch = ScratchFolder()
  private static let (secret, keys): (UnlockSecret, UnlockedKeyring) = {
    var bytes = [UInt8](0..<32)
    do throws(KeyError) {
      let secret = UnlockSecret.keyFile(try SecureBytes(wiping: &bytes))
      return (secret, try Keyring.create(with: secret).unlocked)
    } catch {
      fatalError("\(error)")
    }
  }()
}
