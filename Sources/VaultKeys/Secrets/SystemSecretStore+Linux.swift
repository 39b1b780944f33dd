#if os(Linux)
  import CPlatform

  extension SystemSecrets {
    static func platformStore() -> (any SystemSecretStore)? {
      cplatform_secret_is_available() != 0 ? SecretService() : nil
    }

    /// The error if no secret store is available.
    static let missing = KeyError(
      .secretStoreMissing, "the system's secret store cannot be reached: libsecret-1.so.0 is not installed",
      hint: "install it (on Debian and Ubuntu: libsecret-1-0), or use another kind of slot")
  }

  /// The Secret Service of the session, through libsecret: the default collection of GNOME Keyring, KWallet or
  /// KeePassXC.
  ///
  /// An item has the schema `org.fieldvault.Slot`, the attributes `vault` and `slot`, and the secret as 64
  /// hexadecimal digits.
  struct SecretService: SystemSecretStore {
    /// The time limit for the session bus.
    var busSeconds: Int32 = 5
    /// The further time limit for the store, in which a user may have to type a password.
    var storeSeconds: Int32 = 60

    func store(_ secret: SecureBytes, vaultID: String, slotID: String, label: String) throws(KeyError) {
      let text = try secret.hexText()
      try call(CPLATFORM_SECRET_STORE, vaultID, slotID, label: label, secret: text) { _, _ in }
    }

    func secret(vaultID: String, slotID: String) throws(KeyError) -> SecureBytes? {
      try call(CPLATFORM_SECRET_LOOKUP, vaultID, slotID) { result, call throws(KeyError) -> SecureBytes? in
        guard result == CPLATFORM_SECRET_DONE else { return nil }
        guard call.pointee.secret_count == 2 * UnlockSecret.systemCount else { throw .badSystemSecret }
        let digits = UnsafeRawBufferPointer(
          start: cplatform_secret_bytes(call), count: 2 * UnlockSecret.systemCount)
        guard let secret = try SecureBytes.bytes(ofHex: SecureBytes(copying: digits)) else { throw .badSystemSecret }
        return secret
      }
    }

    func remove(vaultID: String, slotID: String) throws(KeyError) {
      try call(CPLATFORM_SECRET_CLEAR, vaultID, slotID) { _, _ in }
    }

    /// Runs a call and passes a result that is not an error to `body`: success, or a missing item.
    private func call<Result>(
      _ action: cplatform_secret_action, _ vaultID: String, _ slotID: String, label: String = "",
      secret: SecureBytes? = nil,
      _ body: (cplatform_secret_result, UnsafeMutablePointer<cplatform_secret_call>) throws(KeyError) -> Result
    ) throws(KeyError) -> Result {
      guard let call = cplatform_secret_call_new() else { throw .outOfMemory("a secret") }
      var isLost: Int32 = 0
      // One that is lost belongs to its thread.
      defer { if isLost == 0 { cplatform_secret_call_free(call) } }
      call.pointee.action = action
      let fits =
        cplatform_secret_put_names(call, vaultID, slotID, label) != 0
        && secret?.withUnsafeBytes({ cplatform_secret_put_secret(call, $0.baseAddress, $0.count) }) ?? 1 != 0
      guard fits else { throw refusal("a name is too long") }
      let result = cplatform_secret_run(call, busSeconds, storeSeconds, &isLost)
      guard isLost == 0, result != CPLATFORM_SECRET_DONE, result != CPLATFORM_SECRET_ABSENT else {
        if isLost != 0 { throw refusal("it does not respond") }
        return try body(result, call)
      }
      throw error(result, String(cString: cplatform_secret_message(call)))
    }

    private func error(_ result: cplatform_secret_result, _ message: String) -> KeyError {
      switch result {
      case CPLATFORM_SECRET_NO_LIBRARY: SystemSecrets.missing
      case CPLATFORM_SECRET_NO_MEMORY: .outOfMemory("a thread")
      case CPLATFORM_SECRET_LOCKED: Self.locked
      case CPLATFORM_SECRET_TIMEOUT: refusal("it does not respond")
      case CPLATFORM_SECRET_NO_BUS:
        KeyError(
          .secretStoreMissing, "the system's secret store cannot be reached without a session bus: \(message)",
          hint: "log in to a desktop session, run the command under dbus-run-session, or unlock with another secret")
      default: refusal(message.isEmpty ? "no reason given" : message)
      }
    }

    private func refusal(_ why: String) -> KeyError {
      KeyError(
        .secretStoreRefused, "the system's secret store refused the request: \(why)",
        hint: "start and unlock a keyring program such as gnome-keyring-daemon, or unlock with another secret")
    }

    private static let locked = KeyError(
      .secretStoreRefused, "the system's secret store is locked and was not unlocked",
      hint: "unlock it with its own program, or unlock the vault with another secret")
  }
#elseif !canImport(Security)
  extension SystemSecrets {
    static func platformStore() -> (any SystemSecretStore)? { nil }

    static let missing = KeyError(
      .secretStoreMissing, "this system has no secret store", hint: "use another kind of slot")
  }
#endif
