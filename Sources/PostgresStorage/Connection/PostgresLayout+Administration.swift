extension PostgresLayout {
  /// The tables of accounts, users and devices as they have changed since the first version.
  static let tablesOfAdministration = [
    Migration(
      version: 3, name: "sealed_values",
      statements: [
        "ALTER TABLE fieldvault.account ADD COLUMN sealed_key text -- the key of the account, wrapped; NULL if values are not sealed",
        "ALTER TABLE fieldvault.server ADD COLUMN seal_key text -- the name of the key under which new ones are wrapped",
      ]),
    Migration(
      version: 4, name: "audit_log",
      statements: [
        """
        CREATE TABLE fieldvault.audit_entry (
          number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
          time bigint NOT NULL, -- in milliseconds since 1970
          actor text NOT NULL, -- the user of the system who ran the command
          action text NOT NULL,
          user_name text, -- whose rights changed
          details text NOT NULL
        )
        """,
        "CREATE INDEX audit_entry_time ON fieldvault.audit_entry (time, number)",
        "CREATE INDEX audit_entry_action ON fieldvault.audit_entry (action, time)",
      ]),
    Migration(
      version: 5, name: "last_use_of_tokens",
      statements: [
        "ALTER TABLE fieldvault.token ADD COLUMN last_used_at bigint -- of the last request, at most a minute late"
      ]),
    Migration(
      version: 6, name: "memberships",
      statements: [
        """
        CREATE TABLE fieldvault.membership ( -- the projects that each user sees; one that has ended stays
          account_id uuid NOT NULL,
          source text COLLATE "C" NOT NULL, -- the uuid of the membership record, or of the project for its creator
          holder text COLLATE "C" NOT NULL, -- record=UUID, user=NUMBER or everyone
          project text COLLATE "C" NOT NULL,
          is_member boolean NOT NULL,
          sequence bigint NOT NULL, -- of the change with which it began or ended
          PRIMARY KEY (account_id, project, source, holder)
        )
        """,
        "CREATE INDEX membership_holder ON fieldvault.membership (account_id, holder, project)",
        "CREATE INDEX membership_sequence ON fieldvault.membership (account_id, sequence)",
        "ALTER TABLE fieldvault.member ADD COLUMN record_uuid text -- by which membership records name the user",
        "ALTER TABLE fieldvault.account ADD COLUMN limits_to_members boolean NOT NULL DEFAULT false",
      ]),
    Migration(
      version: 7, name: "deletion_of_accounts",
      statements: [
        "ALTER TABLE fieldvault.account ADD COLUMN deleted_at bigint -- when its deletion began; the row stays until the data are removed",
        "CREATE INDEX account_deleted ON fieldvault.account (deleted_at) WHERE deleted_at IS NOT NULL",
        "CREATE INDEX audit_entry_user ON fieldvault.audit_entry (user_name) WHERE user_name IS NOT NULL",
        "CREATE INDEX audit_entry_actor ON fieldvault.audit_entry (actor)",
      ]),
    Migration(
      version: 8, name: "contacts_of_devices",
      statements: [
        """
        CREATE TABLE fieldvault.device_contact ( -- the last requests of each device
          account_id uuid NOT NULL,
          device_id text COLLATE "C" NOT NULL,
          token_id bigint NOT NULL, -- of its last request
          version text, -- of its program
          first_seen_at bigint NOT NULL,
          last_seen_at bigint NOT NULL, -- at most a minute late
          position bigint, -- of the last change that it has read
          revoked_at bigint,
          told_at bigint, -- when it was told that it is revoked
          PRIMARY KEY (account_id, device_id)
        )
        """,
        "CREATE INDEX device_contact_revoked ON fieldvault.device_contact (account_id, device_id) WHERE revoked_at IS NOT NULL",
        "ALTER TABLE fieldvault.account ADD COLUMN record_count bigint -- without deleted ones; NULL until it is needed",
        "ALTER TABLE fieldvault.account ADD COLUMN counted_sequence bigint -- the last change that record_count includes",
      ]),
    Migration(
      version: 9, name: "pages_for_operators",
      statements: [
        """
        CREATE TABLE fieldvault.operator_session ( -- the links to the pages for operators, and the sessions that they have opened
          link_hash bytea PRIMARY KEY, -- SHA-256 of the key in the link
          session_hash bytea UNIQUE, -- SHA-256 of the cookie; NULL until the link is opened
          ends_at bigint NOT NULL, -- of the link or of the session
          used_at bigint -- the last request, at most a minute late
        )
        """,
        "CREATE INDEX operator_session_end ON fieldvault.operator_session (ends_at)",
        "CREATE INDEX account_by_name ON fieldvault.account (name COLLATE \"C\")",
        "CREATE INDEX member_by_name ON fieldvault.member (name)",
        "CREATE INDEX token_of_user ON fieldvault.token (account_id, user_id, token_id)",
        "CREATE INDEX token_valid ON fieldvault.token (account_id, user_id) WHERE revoked_at IS NULL",
      ]),
  ]
}
