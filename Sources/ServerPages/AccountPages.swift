import Platform
import ServerStorage
import WebPages

extension OperatorPages {
  /// The accounts, by name.
  func accounts(after name: String?) async throws -> WebPage {
    let directory = directory
    let page = try await Self.page { try directory.accounts(after: name, atMost: $0) }
    let rows = page.rows.map { account in
      HTML.row([
        Self.link(account.account), "\(Self.capped(account.users))", Self.time(account.createdAt),
        account.limitsToMembers ? "members only" : "all projects", HTML.value(account.account.folder),
      ])
    }
    let next = page.hasNext ? page.rows.last.map { Link("/accounts").with("after", $0.account.name) } : nil
    return WebPage(
      "Accounts",
      Self.table(
        "Accounts", ["account", "users", "added (UTC)", "devices see", "name in the log"], rows,
        empty: "There are no accounts.")
        + Self.pager("Pages of accounts", first: name.map { _ in Link("/accounts") }, next: next))
  }

  /// One account with its users and devices.
  func account(_ name: String, usersAfter: Int64?, devicesAfter: String?) async throws -> WebPage {
    let directory = directory
    guard let account = try await offload({ try directory.account(name) }) else { return Self.noSuch("account") }
    let id = account.account
    // A damaged account is shown with what the directory knows.
    var state: AccountState?
    do { state = try await facts.state(of: id) } catch { facts.log("/account: \(error)") }
    var entries: [(name: String, value: HTML)] = [
      ("Users", HTML.link(Link("/account").with("name", name), "\(Self.capped(account.users))")),
      ("Added (UTC)", Self.time(account.createdAt)),
      ("Devices see", account.limitsToMembers ? "the projects of which their users are members" : "all projects"),
      ("Name in the log", HTML.value(id.folder)),
    ]
    if let state {
      entries += [
        ("Last change", "\(countText(Int(state.lastSequence)))"),
        ("Dependents that follow a record", state.hasJobs ? "being changed" : "none"),
        ("Requests that wait for a change", HTML.link(Link("/figures"), "\(countText(state.waiting))")),
      ]
      if let isBehind = state.isWebhookBehind {
        entries.append(("Webhook", isBehind ? "not told of all changes" : "told"))
      }
    } else {
      entries.append(
        ("State", "<strong class=\"bad\">The data cannot be read. The log of the server has the reason.</strong>"))
    }
    let users = try await usersSection(id, after: usersAfter, devicesAfter: devicesAfter)
    let devices = try await devicesSection(id, state?.lastSequence, after: devicesAfter, usersAfter: usersAfter)
    return WebPage("Account \(name)", HTML.definitions(entries) + users + devices)
  }

  private func usersSection(_ account: AccountName, after id: Int64?, devicesAfter: String?) async throws -> HTML {
    let directory = directory
    let page = try await Self.page { try directory.users(of: account, after: id, atMost: $0) }
    let quota = await facts.state().quota
    var rows: [HTML] = []
    for user in page.rows {
      rows.append(
        HTML.row([
          HTML.link(Link("/user").with("name", user.name), HTML.value(user.name)), Self.time(user.createdAt),
          user.isRevoked ? "<span class=\"warn\">revoked</span>" : "valid", try await storage(of: user, quota),
          HTML.value(user.record ?? ""),
        ]))
    }
    let link = Link("/account").with("name", account.name).with("devices", devicesAfter)
    let next = page.hasNext ? page.rows.last.map { link.with("users", String($0.id)) } : nil
    return HTML.section(
      "Users",
      Self.table(
        "Users", ["user", "added (UTC)", "tokens", "files", "record"], rows, empty: "There are no further users.")
        + Self.pager("Pages of users", first: id.map { _ in link }, next: next))
  }

  /// The bytes of a user with the quota.
  private func storage(of user: AccountUser, _ quota: Int64) async throws -> HTML {
    do {
      let used = try await facts.usedBytes(of: user)
      let text: HTML = "\(byteText(used)) of \(byteText(quota))"
      return used * 10 > quota * 9 ? "<strong class=\"warn\">\(text)</strong>" : text
    } catch {
      facts.log("/account: \(error)")
      return "unknown"
    }
  }

  private func devicesSection(
    _ account: AccountName, _ lastSequence: Int64?, after id: String?, usersAfter: Int64?
  ) async throws -> HTML {
    let directory = directory
    let page = try await Self.page { try directory.devices(of: account, after: id, atMost: $0) }
    let rows = page.rows.map { device -> HTML in
      let lag = lastSequence.flatMap { device.lag(behind: $0) }
      let standing: HTML =
        device.revokedAt == nil
        ? "" : "<span class=\"warn\">revoked</span> \(device.toldAt == nil ? "not told yet" : "and told" as HTML)"
      return HTML.row([
        HTML.value(device.id),
        device.user.map { HTML.link(Link("/user").with("name", $0), HTML.value($0)) } ?? "token removed",
        "\(device.tokenId)", HTML.value(device.version ?? ""), Self.time(device.firstSeenAt),
        Self.time(device.lastSeenAt),
        "\(lag.map { countText(Int($0)) } ?? "unknown")", standing,
      ])
    }
    let link = Link("/account").with("name", account.name).with("users", usersAfter.map(String.init))
    let next = page.hasNext ? page.rows.last.map { link.with("devices", $0.id) } : nil
    let titles: [HTML] = [
      "device", "user", "token", "version", "first contact (UTC)", "last contact (UTC)", "changes behind", "standing",
    ]
    return HTML.section(
      "Devices",
      Self.table("Devices", titles, rows, empty: "There are no further devices.")
        + Self.pager("Pages of devices", first: id.map { _ in link }, next: next))
  }

  /// One user with its tokens, of which no secret is known.
  func user(_ name: String, tokensBefore id: Int64?) async throws -> WebPage {
    let directory = directory
    guard let user = try await offload({ try directory.user(name) }) else { return Self.noSuch("user") }
    let page = try await Self.page { try directory.tokens(of: user, before: id, atMost: $0) }
    let rows = page.rows.map { token in
      HTML.row([
        "\(token.id)", "\(token.role.rawValue)", HTML.value(token.label ?? ""), Self.time(token.createdAt),
        Self.time(token.lastUsedAt), Self.time(token.expiresAt), Self.time(token.revokedAt),
      ])
    }
    let quota = await facts.state().quota
    let entries: [(name: String, value: HTML)] = [
      ("Account", Self.link(user.account)), ("Added (UTC)", Self.time(user.createdAt)),
      ("Tokens", user.isRevoked ? "<span class=\"warn\">all revoked</span>" : "valid"),
      ("Record", user.record.map { HTML.value($0) } ?? "none"), ("Files", try await storage(of: user, quota)),
    ]
    let link = Link("/user").with("name", name)
    let next = page.hasNext ? page.rows.last.map { link.with("tokens", String($0.id)) } : nil
    let titles: [HTML] = [
      "token", "role", "label", "added (UTC)", "last use (UTC)", "expires (UTC)", "revoked (UTC)",
    ]
    return WebPage(
      "User \(name)",
      HTML.definitions(entries)
        + HTML.section(
          "Tokens, newest first",
          Self.table("Tokens", titles, rows, empty: "There are no further tokens.")
            + Self.pager("Pages of tokens", first: id.map { _ in link }, next: next)))
  }

  private static func link(_ account: AccountName) -> HTML {
    HTML.link(Link("/account").with("name", account.name), HTML.value(account.name))
  }

  /// The audit log, newest first.
  func audit(before number: Int64?) async throws -> WebPage {
    let directory = directory
    let page = try await Self.page { try directory.auditLog(before: number, atMost: $0) }
    let rows = page.rows.map { entry in
      HTML.row([
        Self.time(entry.time), HTML.value(entry.actor), HTML.value(entry.action), HTML.value(entry.user ?? ""),
        HTML.value(entry.details),
      ])
    }
    let next = page.hasNext ? page.rows.last.map { Link("/audit").with("before", String($0.number)) } : nil
    return WebPage(
      "Audit log",
      Self.table(
        "Entries of the audit log, newest first", ["time (UTC)", "actor", "action", "user", "details"], rows,
        empty: "There are no further entries.")
        + Self.pager("Pages of the audit log", first: number.map { _ in Link("/audit") }, next: next))
  }
}
