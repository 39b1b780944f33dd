import CommandLineKit
import VaultStore

extension FieldVaultProgram {
  static let syncCommands: [CommandDescription] = [
    CommandDescription(
      "sync", group: "Sync", summary: "send what waits and fetch what is new",
      discussion: """
        One round: fetch, send, fetch what that changed. Nothing is lost when it is interrupted or the server cannot be \
        reached: what was under way is sent again under the same name, and takes effect once. --watch goes on until it \
        is stopped, and does a round whenever something is written here or there, or the network is back. Where such a \
        process runs already, 'sync' asks it for a round and waits for the end of it. A comparison that would delete more \
        than 20 records and more than 5 % of all is held: it deletes nothing until --accept-deletions. Ends with 8 when \
        conflicts or failed operations wait for a person, new ones or old, and when a comparison is held.
        """,
      options: [
        .flag("watch", short: "w", "go on until stopped"),
        .flag("push-only", "send, and fetch nothing"),
        .flag("pull-only", "fetch, and send nothing"),
        .flag("full", "compare all records with the server's, and move what differs"),
        .flag("accept-deletions", "delete here what a comparison that was held found missing at the server"),
      ],
      choices: [Choice("push-only", "pull-only")],
      examples: [
        Example("fieldvault sync", "one round"),
        Example("fieldvault sync --watch", "all day"),
        Example("fieldvault sync --full --json", "compare everything, for a program"),
        Example("fieldvault sync --accept-deletions", "the records are really gone at the server"),
      ],
      exitCodes: usual + [.offline, .attention, .noSpace, .credentials, .interrupted]),
    CommandDescription(
      "status", aliases: ["st"], group: "Sync", summary: "the store at a glance",
      discussion: """
        What waits, what failed, which conflicts are open, and whether the server answers: online, limited (there is a \
        network, but the server does not answer within 2 seconds) or offline.
        """,
      examples: [
        Example("fieldvault status", "how are things?"), Example("fieldvault status --json", "for a program"),
      ],
      exitCodes: usual),
    CommandDescription(
      "why", group: "Sync", summary: "where a record stands on its way to the server, and what it waits for",
      arguments: [entityArgument, .required("UUID", "the record")],
      examples: [
        Example("fieldvault why AtmosphericLog 0193...", "the room that it waits for, and what that waits for")
      ],
      exitCodes: usual + [.refused]),
    CommandDescription(
      "history", group: "Sync", summary: "the rounds of sync, the newest first",
      options: [.value("limit", "N", short: "n", "at most this many", default: "20")],
      examples: [Example("fieldvault history -n 5", "the last five rounds")],
      exitCodes: usual),
    CommandDescription(
      "trace", group: "Sync", summary: "what sync did and what waits, as JSON for somebody who is to help",
      discussion: """
        Kinds of record, counts, states and times. No value of a record is in it, no name, no address and no message of a \
        server; records are numbered.
        """,
      options: [.value("limit", "N", short: "n", "at most this many rounds", default: "200")],
      examples: [Example("fieldvault trace > trace.json", "to be sent along with a question")],
      exitCodes: usual),
    CommandDescription(
      "remote", group: "Sync", summary: "the server", exitCodes: usual,
      subcommands: [
        CommandDescription(
          "set", summary: "set the server and the token",
          discussion: """
            The token is the first line of --token-file, or is asked for on a terminal; it is kept in the encrypted \
            database and shown to nobody. A token is for one address: with another address a new one is needed. http:// \
            is for servers on this machine; elsewhere everybody on the way could read the token and the records. With \
            --routes the server is an API that exists already: the file says how it takes and gives each kind of record. \
            What it has no way to take is refused from then on when it is written. The file is checked and kept in the vault. \
            The server and the token are tried at once, and nothing is set when that fails; --no-check leaves that out, as \
            does a vault in device-only mode.
            """,
          arguments: [.required("URL", "its address, such as https://sync.example.org")],
          options: [
            .value("routes", "FILE", "the routes of an API that is no FieldVault server (JSON)", completion: .file),
            .value("token-file", "FILE", "the token is the first line of FILE; - is standard input", completion: .file),
            .flag("no-check", "set it without asking the server"),
            .flag("allow-insecure", "take http:// for another machine, where something else encrypts"),
          ],
          examples: [
            Example("fieldvault remote set https://sync.example.org --token-file token", "and then: fieldvault sync"),
            Example("fieldvault remote set http://127.0.0.1:8787", "asks for the token"),
            Example(
              "fieldvault remote set https://api.example.org --routes range.routes.json --token-file token",
              "an API that exists already"),
          ],
          exitCodes: usual + [.offline, .refused, .credentials]),
        CommandDescription(
          "show", summary: "the address, and whose records these are",
          examples: [Example("fieldvault remote show --json", "for a program")], exitCodes: usual),
        CommandDescription(
          "unset", summary: "forget the address and the token",
          discussion: "What is not sent stays. With the same server set again, sync goes on where it was.",
          examples: [Example("fieldvault remote unset", "back to a vault without a server")], exitCodes: usual),
      ]),
    CommandDescription(
      "logout", group: "Sync", summary: "forget the token, after naming what is not sent",
      discussion: """
        What is not sent stays in the vault and is sent when a member of the same account logs in. Reference data that \
        nothing points to goes, and comes back with the next login. Where something is not sent it asks first; without \
        a terminal it wants --yes.
        """,
      options: [.flag("yes", short: "y", "also when something is not sent")],
      examples: [Example("fieldvault logout", "at the end of the job")],
      exitCodes: usual + [.refused]),
    CommandDescription(
      "config", group: "Sync", summary: "the settings of the vault", exitCodes: usual,
      subcommands: [
        CommandDescription(
          "get", summary: "one setting, or all",
          arguments: [.optional("NAME", "the setting", allowed: settingNames)],
          examples: [Example("fieldvault config get", "all"), Example("fieldvault config get mode --json", "one")],
          exitCodes: usual),
        CommandDescription(
          "set", summary: "change a setting",
          discussion: """
            mode: 'device' sends and fetches nothing and keeps everything, 'cloud' syncs. unmetered-only: 'true' waits \
            for a network that does not count bytes. projects: 'all', 'active' for those that are, or the uuids of those \
            that this device follows. \
            For photos and files: storage-limit is how many bytes they may take here, as 2GB; beyond it those that the \
            server has make room, what was used longest ago first. unmetered-files: 'true' lets files wait for a network \
            that does not count bytes, and records not. upload: 'ciphertext' sends files encrypted as they are, \
            'plaintext' is for a server that works with images. download: 'thumbnails' fetches those alone and the rest \
            when asked for, 'all' fetches everything. recompress: 'off', or the longest side in pixels to which pictures \
            are made smaller when they are taken in. strip-location: 'true' stores pictures without the place where they \
            were taken, and other files with a note; 'require' refuses a file whose place cannot be removed.
            """,
          arguments: [
            .required("NAME", "the setting", allowed: settingNames), .oneOrMore("VALUE", "its value"),
          ],
          examples: [
            Example("fieldvault config set mode device", "no network from now on"),
            Example("fieldvault config set projects active", "no completed ones, and no archived ones"),
            Example("fieldvault config set projects 0193...,0194...", "only these two"),
            Example("fieldvault config set storage-limit 500MB", "photos take no more than that here"),
          ],
          exitCodes: usual + [.refused]),
      ]),
  ]

  private static let settingNames = Vault.Preference.allCases.map(\.rawValue)
}
