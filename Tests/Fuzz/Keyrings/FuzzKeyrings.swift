import FuzzSupport

@testable import VaultKeys

/// A keyring is refused with a `KeyError`, or writing it gives the same bytes. The input is the text without its checksum line,
/// which no change would survive; behind a zero byte it is the whole file.
@main
enum FuzzKeyrings: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    var file = bytes
    if bytes.first == 0 {
      file.removeFirst()
    } else {
      file += Array(Keyring.checksumLine(Digest.sha256Hex(bytes[...])).utf8)
    }
    do throws(KeyError) {
      let keyring = try Keyring(parsing: file)
      require(keyring.serialized() == file, "a keyring is written as it was read")
      require((1...Keyring.maximumSlots).contains(keyring.slots.count), "the number of slots is bounded")
      for slot in keyring.slots { require(Label.isAcceptable(slot.label), "a label is safe to print") }
      open(keyring)
    } catch {
      require(!error.message.isEmpty && !error.hint.isEmpty, "a refusal has a reason and a remedy")
    }
  }

  /// Secrets without a costly derivation; a passphrase costs as much time as its slot says.
  private static func open(_ keyring: Keyring) {
    for secret in secrets {
      do throws(KeyError) {
        let unlocked = try keyring.unlock(with: secret)
        require(unlocked.keyring == keyring, "unlocking changes nothing")
      } catch {
        require(!error.message.isEmpty && !error.hint.isEmpty, "a refusal has a reason and a remedy")
      }
    }
  }

  private static let secrets: [UnlockSecret] = {
    let bytes = [UInt8](0..<32)
    do throws(KeyError) {
      return try [.keyFile(secure(bytes)), .system(secure(bytes))]
    } catch {
      fatalError("\(error)")
    }
  }()

  private static func secure(_ bytes: [UInt8]) throws(KeyError) -> SecureBytes {
    var copy = bytes
    return try SecureBytes(wiping: &copy)
  }
}
