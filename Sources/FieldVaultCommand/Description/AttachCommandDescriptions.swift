import CommandLineKit

extension FieldVaultProgram {
  static let attachCommands: [CommandDescription] = [
    CommandDescription(
      "attach", aliases: ["attachments"], group: "Records",
      summary: "photos and files, each encrypted under a key of its own",
      exitCodes: usual,
      subcommands: [
        CommandDescription(
          "add", summary: "take files in as attachments of a record",
          discussion: """
            Each file is encrypted, brought to the disk, and becomes a record that belongs to the one that is named: a \
            Photo in the restoration schema. All files or none. The same content taken in twice is stored once. The \
            original stays where it is. With --json the attachment; with several FILEs, an array of them. 'config set' \
            says whether pictures are made smaller, and whether they lose the place where they were made.
            """,
          arguments: [
            entityArgument, .required("UUID", "the record"), .oneOrMore("FILE", "the files", completion: .file),
          ],
          examples: [
            Example("fieldvault attach add MoistureLog 0193... IMG_0001.jpg", "a photo of a reading"),
            Example("fieldvault attach add Project 0193... *.jpg plan.pdf", "several, all or none"),
          ],
          exitCodes: usual + [.noSpace, .refused]),
        CommandDescription(
          "list", aliases: ["ls"], summary: "the attachments, and where their files are",
          discussion: """
            'full' is here, absent (not fetched yet) or evicted (made room for others; it is fetched when asked for).
            """,
          arguments: [
            .optional("ENTITY", "only those of one record: its kind"), .optional("UUID", "and the record"),
          ],
          examples: [
            Example("fieldvault attach list Room 0193...", "what hangs on a room"),
            Example("fieldvault attach ls --json", "all, for a program"),
          ],
          exitCodes: usual + [.refused]),
        CommandDescription(
          "export", summary: "write an attachment to a file, not encrypted",
          discussion: """
            FILE appears whole and verified, or not at all, and nothing is overwritten without --force. A folder as FILE \
            gets the attachment's own name, without what a name must not have. An attachment that is not on this device \
            is asked for, and the command ends with 7: after the next sync it is there.
            """,
          arguments: [attachment, .required("FILE", "the file to write", completion: .file)],
          options: [
            .flag("thumbnail", short: "t", "the small picture instead"),
            .flag("force", short: "f", "replace what stands there"),
          ],
          examples: [
            Example("fieldvault attach export 0193... roof.jpg", "to look at it"),
            Example("fieldvault attach export 0193... . --thumbnail", "the small one, into this folder"),
          ],
          exitCodes: usual + [.offline, .noSpace]),
        CommandDescription(
          "remove", aliases: ["rm"], summary: "delete attachments",
          discussion: """
            As any record is deleted: until the server knows of it, 'outbox discard' brings it back. Then the key goes, \
            and nothing opens the file any more.
            """,
          arguments: [.oneOrMore("UUID", "the attachments")],
          examples: [Example("fieldvault attach remove 0193...", "the photo that nobody wants")],
          exitCodes: usual + [.refused]),
        CommandDescription(
          "verify", summary: "read every file and check it against its key and its digest",
          discussion: """
            Names each file that is damaged, missing, of no record, or no part of a vault. Ends with 5 when a file is \
            damaged or missing.
            """,
          options: [.flag("fetch", "have what the server has fetched again with the next sync")],
          examples: [
            Example("fieldvault attach verify", "is every photo whole?"),
            Example("fieldvault attach verify --fetch", "and where not, from the server again"),
          ],
          exitCodes: usual),
        CommandDescription(
          "retry", summary: "send and fetch again what has failed",
          discussion: "A file that failed six times waits for this. Records never wait for files.",
          arguments: [.optional("UUID", "one attachment; without it all")],
          examples: [Example("fieldvault attach retry", "after the server was mended")],
          exitCodes: usual),
      ])
  ]

  private static let attachment = ArgumentDescription.required("UUID", "the attachment")
}
