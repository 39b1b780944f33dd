extension KeyError {
  /// The kind of a ``KeyError``. New kinds can be added without breaking a `switch`, which always needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String

    private init(_ name: String) {
      self.name = name
    }

    /// The name of the code, stable enough for a log.
    public var description: String { name }

    // Unlocking.

    /// The secret does not open the slots of its kind. The keyring is intact.
    public static let wrongSecret = Code("wrongSecret")
    /// The keyring has no slot of the kind of the secret.
    public static let noSlotOfThatKind = Code("noSlotOfThatKind")
    /// The passphrase has no bytes.
    public static let emptySecret = Code("emptySecret")
    /// The passphrase is longer than 1 MiB.
    public static let secretTooLong = Code("secretTooLong")
    /// A mistyped recovery code, detected by its check characters before any key is tried.
    public static let badRecoveryCode = Code("badRecoveryCode")
    /// A key file that is shorter than 32 bytes, longer than 1 MiB or one byte repeated.
    public static let badKeyFile = Code("badKeyFile")
    /// The value in the system's secret store is not 32 bytes long.
    public static let badSystemSecret = Code("badSystemSecret")
    /// The system's secret store works, but has no secret for the vault.
    public static let notInSecretStore = Code("notInSecretStore")
    /// The secret store is missing: its library or its session does not exist.
    public static let secretStoreMissing = Code("secretStoreMissing")
    /// The system's secret store is locked, does not respond or refuses access.
    public static let secretStoreRefused = Code("secretStoreRefused")
    /// The step needs the root key, and the vault was opened with a database key only.
    public static let secretRequired = Code("secretRequired")
    /// A new passphrase was typed differently the second time.
    public static let secretsDiffer = Code("secretsDiffer")

    // The keyring.

    /// The keyring fails its integrity check. A wrong passphrase never causes this error.
    public static let damaged = Code("damaged")
    /// Argon2id parameters outside the accepted range; nothing was allocated for them.
    public static let unacceptableParameters = Code("unacceptableParameters")
    /// A label that is too long or contains control characters.
    public static let badLabel = Code("badLabel")
    /// The keyring is intact, but has a version that this program does not support.
    public static let newerFormat = Code("newerFormat")
    /// The last slot cannot be removed, because the vault could not be opened any more.
    public static let lastSlot = Code("lastSlot")
    /// An unknown slot id, or a slot of another kind than the call requires.
    public static let noSuchSlot = Code("noSuchSlot")
    /// The keyring already has 64 slots, or no generation number is left.
    public static let limitReached = Code("limitReached")

    // Files, the terminal and memory.

    /// The file does not exist.
    public static let notFound = Code("notFound")
    /// The file or descriptor cannot be opened or read.
    public static let unreadable = Code("unreadable")
    /// The file cannot be written. The old file is unchanged, unless the message states otherwise.
    public static let cannotWrite = Code("cannotWrite")
    /// The disk has no space left for the file. The old file is unchanged.
    public static let noSpace = Code("noSpace")
    /// A file of that name exists and is not overwritten.
    public static let alreadyExists = Code("alreadyExists")
    /// Not enough memory for a key or for Argon2id.
    public static let outOfMemory = Code("outOfMemory")
    /// The user or a signal cancelled the prompt.
    public static let cancelled = Code("cancelled")
    /// A prompt is required, but the process has no terminal.
    public static let noTerminal = Code("noTerminal")
  }
}
