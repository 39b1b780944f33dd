#if canImport(Security)
  import Foundation
  import Security

  extension SystemSecrets {
    static func platformStore() -> (any SystemSecretStore)? { Keychain() }

    static let missing = KeyError(
      .secretStoreMissing, "this system has no keychain", hint: "use another kind of slot")
  }

  /// The keychain: a generic password of the service `org.fieldvault.slot`, with the ids of vault and slot as its
  /// account. It is accessible while the device is unlocked, and is never copied to another device.
  struct Keychain: SystemSecretStore {
    func store(_ secret: SecureBytes, vaultID: String, slotID: String, label: String) throws(KeyError) {
      let status = secret.withUnsafeBytes { bytes in
        // The keychain gets the guarded memory itself, without a copy in between.
        guard let start = bytes.baseAddress.map({ UnsafeMutableRawPointer(mutating: $0) }) else { return errSecParam }
        let data = NSData(bytesNoCopy: start, length: bytes.count, freeWhenDone: false)
        var item = Self.item(vaultID, slotID)
        item[kSecAttrLabel] = label
        item[kSecAttrAccessible] = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        item[kSecValueData] = data
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecDuplicateItem else { return status }
        let removed = SecItemDelete(Self.item(vaultID, slotID) as CFDictionary)
        return removed == errSecSuccess ? SecItemAdd(item as CFDictionary, nil) : removed
      }
      try Self.check(status)
    }

    func secret(vaultID: String, slotID: String) throws(KeyError) -> SecureBytes? {
      var query = Self.item(vaultID, slotID)
      query[kSecReturnData] = true
      query[kSecMatchLimit] = kSecMatchLimitOne
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      if status == errSecItemNotFound { return nil }
      try Self.check(status)
      guard let data = found as? NSData, data.length == UnlockSecret.systemCount else { throw .badSystemSecret }
      return try SecureBytes(copying: UnsafeRawBufferPointer(start: data.bytes, count: data.length))
    }

    func remove(vaultID: String, slotID: String) throws(KeyError) {
      let status = SecItemDelete(Self.item(vaultID, slotID) as CFDictionary)
      if status != errSecItemNotFound { try Self.check(status) }
    }

    private static func item(_ vaultID: String, _ slotID: String) -> [CFString: Any] {
      [
        kSecClass: kSecClassGenericPassword, kSecAttrService: "org.fieldvault.slot",
        kSecAttrAccount: "\(vaultID)/\(slotID)",
      ]
    }

    private static func check(_ status: OSStatus) throws(KeyError) {
      guard status != errSecSuccess else { return }
      let why = SecCopyErrorMessageString(status, nil).map { $0 as String } ?? "status \(status)"
      throw KeyError(
        .secretStoreRefused, "the keychain refused the request: \(why)",
        hint: "unlock the keychain and allow this program to use it, or unlock the vault with another secret")
    }
  }
#endif
