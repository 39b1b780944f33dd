import CommandLineKit

extension FieldVaultProgram {
  static let keyCommands: [CommandDescription] = [
    CommandDescription(
      "key", group: "Keys", summary: "the ways to unlock the vault, and the key of its database",
      discussion: """
        Each slot opens the same vault: a passphrase, a key file, a recovery code or a secret that the \
        operating system keeps. Changing a slot is done at once and leaves the database as it is. 'rotate' writes the database anew under a new key.
        """,
      exitCodes: usual,
      subcommands: [
        CommandDescription(
          "list", summary: "the slots", examples: [Example("fieldvault key list --json", "for a program")],
          exitCodes: usual),
        CommandDescription(
          "add", summary: "one more way to unlock the vault",
          discussion: """
            A passphrase is asked for twice, or is the first line of --new-passphrase-file. A key file is any file of \
            32 bytes to 1 MiB; where there is none of that name, one is made. A recovery code is shown once. For 'system' a \
            random secret is kept by the operating system: the keychain, or the Secret Service of a Linux desktop. \
            The vault then opens in your session on this machine without a question.
            """,
          arguments: [
            .required("KIND", "the kind of slot", allowed: ["passphrase", "key-file", "recovery", "system"])
          ],
          options: [
            newPassphraseFile,
            .value("new-key-file", "FILE", "the key file; made where there is none", completion: .file),
            .value("label", "TEXT", "what to call the slot"),
          ],
          examples: [
            Example("fieldvault key add recovery --label 'in the safe'", "shows a code to write down"),
            Example("fieldvault key add key-file --new-key-file job.key", "makes job.key"),
            Example("fieldvault key add system --label laptop", "this machine opens the vault by itself"),
          ],
          exitCodes: usual + [.noSpace]),
        CommandDescription(
          "remove", aliases: ["rm"], summary: "take a slot away, never the last one",
          arguments: [.required("SLOT", "its id, as 'key list' shows it")],
          examples: [Example("fieldvault key remove 1f2e3d4c", "its secret opens the vault no more")],
          exitCodes: usual + [.noSpace, .refused]),
        CommandDescription(
          "passphrase", summary: "change a passphrase",
          discussion: """
            Rewrites one slot, at once. It does not help against somebody who has a copy of the vault and knew the \
            old passphrase: for that there is 'key rotate'.
            """,
          options: [newPassphraseFile, .value("slot", "SLOT", "which slot; the one that opens the vault by itself")],
          examples: [Example("fieldvault key passphrase", "asks for the old one, then twice for the new one")],
          exitCodes: usual + [.noSpace]),
        CommandDescription(
          "rotate", summary: "write the database anew under a new key",
          discussion: """
            Needs as much free space as the database has. No other process may have the vault open. When it is \
            interrupted, the vault has the old key or the new one, whole, and the next command sweeps up. Backups and \
            copies that were made before keep their old key and open with the slots that they carry. --root replaces \
            the root key as well: only slots whose secrets are given go on working, the others are named and dropped \
            with --yes.
            """,
          options: [
            .flag("root", "replace the root key as well"),
            .flag("dry-run", "say what would happen, and change nothing"),
            .flag("yes", short: "y", "drop slots whose secrets are not given"),
            .value(
              "also-passphrase-file", "FILE", "with --root: the passphrase of another slot to keep", repetition: .each,
              completion: .file),
            .value(
              "also-key-file", "FILE", "with --root: the key file of another slot to keep", repetition: .each,
              completion: .file),
            .value(
              "also-recovery-file", "FILE", "with --root: the recovery code of another slot to keep",
              repetition: .each, completion: .file),
            .flag("also-system", "with --root: keep the slot whose secret the system keeps"),
          ],
          examples: [
            Example("fieldvault key rotate --dry-run", "how much space it needs, and who is in the way"),
            Example("fieldvault key rotate --root --also-key-file job.key", "keeps the passphrase and the key file"),
          ],
          exitCodes: usual + [.noSpace, .refused]),
        CommandDescription(
          "export", summary: "write the database key to a new file, for other programs that read SQLCipher",
          arguments: [.required("FILE", "the file to make; its mode is 0600", completion: .file)],
          examples: [Example("fieldvault key export db.key", "writes x'64 HEX DIGITS'")],
          exitCodes: usual + [.noSpace]),
      ])
  ]

  private static let newPassphraseFile = OptionDescription.value(
    "new-passphrase-file", "FILE", "the new passphrase is its first line; - is standard input", completion: .file)
}
