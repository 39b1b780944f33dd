import CipherSQL
import Foundation
import RawNetwork
import RestorationModel
import ServerStorage
import ServerSupport
import SyncModel
import SyncServer
import TestSupport
import Testing
import VaultKeys

@testable import HTTPClient
@testable import SyncEngine
@testable import VaultStore

/// Devices whose tokens of an identity provider expire.
@Suite struct TokenRenewalSyncTests {
  private struct NotSignedIn: Error, CustomStringConvertible {
    let description = "nobody is signed in"
  }

  /// A kind of request, by its method and path.
  struct Kind: Sendable, CustomTestStringConvertible {
    let method: String
    let path: String

    init(_ method: String, _ path: String) { (self.method, self.path) = (method, path) }

    var testDescription: String { "\(method) \(path)" }

    static let all = [
      Kind("GET", "/v1/account"), Kind("GET", "/v1/changes"), Kind("POST", "/v1/push"), Kind("GET", "/v1/digests"),
      Kind("GET", "/v1/digests/*"), Kind("POST", "/v1/records"), Kind("POST", "/v1/files"),
      Kind("PATCH", "/v1/files/*"),
      Kind("POST", "/v1/files/digests"), Kind("GET", "/v1/files/*"), Kind("GET", "/v1/watch"),
    ]
  }

  private let folder: TemporaryFolder
  private let time = TestClock()
  private let signer: TokenSigner
  private let server: FieldVaultServer
  private let directory: any AccountDirectory
  private let asked = Locked<[TokenReason]>([])

  init() throws {
    folder = try TemporaryFolder()
    signer = try TokenSigner(.p256, id: "key")
    try Data(keySet([signer]).utf8).write(to: URL(filePath: folder.file("keys.json")))
    var provider = IdentityProvider(issuer: "https://id.example.org", audience: "fieldvault")
    provider.accountClaim = "account"
    provider.defaultAccount = "water"
    (server, directory) = try signInServer(
      isPostgres: TestEngine.isPostgres, in: folder.path,
      SignInSettings(provider: provider, keys: try ProviderKeySource(file: folder.file("keys.json"))),
      schemas: [RestorationSchema.schema], environment: Environment(clock: time.clock, random: .system), log: { _ in })
  }

  /// A token of the provider for ten minutes.
  private func token(_ user: String, _ number: Int64 = 1, _ more: SyncObject = [:]) throws -> String {
    let named: SyncObject = ["jti": .integer(number)]
    return try signer.token(claims(of: user, at: time.now, named.overlaid(with: more)))
  }

  private func vault(_ user: String) throws -> Vault {
    let vault = try Vault.create(
      at: folder.file(user + ".vault"),
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: keyFileSecret(1), configuration: Configuration(environment: .system { 0 }))
    try vault.setRemote(url: server.url, token: try token(user))
    return vault
  }

  private func asking(_ answer: @escaping TokenProvider) -> TokenProvider {
    { [asked] reason in
      asked.withLock { $0.append(reason) }
      return try await answer(reason)
    }
  }

  /// Limits that only guard against a hang.
  private var limits: TransportLimits {
    var limits = TransportLimits()
    (limits.connectSeconds, limits.idleSeconds, limits.wholeSeconds) = (600, 600, 1200)
    return limits
  }

  private func worker(_ vault: Vault, _ provider: TokenProvider? = nil) throws -> SyncWorker {
    let transport = try HTTPTransport(vault: vault, limits: limits, tokenProvider: provider)
    return SyncWorker(
      vault: vault, remote: FieldVaultRemote(transport: transport), monitor: NetworkMonitor(fixed: .online))
  }

  private func attach(_ vault: Vault, to project: UUID, _ name: String) throws -> UUID {
    let path = folder.file(name)
    try Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ name.utf8.count) }).write(to: URL(filePath: path))
    return try vault.attach([path], to: try vault.entities.entity("Project"), project)[0]
  }

  private func content(_ vault: Vault, _ uuid: UUID) throws -> Data {
    var content = Data()
    try vault.openAttachment(uuid).forEachPart { content.append(contentsOf: $0) }
    return content
  }

  private func isHere(_ vault: Vault, _ uuid: UUID) -> Bool {
    do {
      _ = try vault.openAttachment(uuid)
      return true
    } catch {
      return false
    }
  }

  private func digests(_ vault: Vault) async throws -> [String: String] {
    try await vault.database.read { connection in
      let store = try StoreDigests(catalog: vault.syncCatalog, connection: connection)
      return try vault.syncCatalog.tables.mapValues { try store.digests(of: $0).whole.digest }
    }
  }

  private func storedToken(_ vault: Vault) throws -> String? { try vault.remoteToken() }

  private func unsent(_ vault: Vault) async throws -> [String] {
    try await vault.database.read {
      try $0.fetch(
        "SELECT status || retryCount FROM OfflineSyncQueue WHERE completedAt IS NULL", as: String.self)
    }
  }

  @Test(
    "Each kind of request that meets an expired token is repeated with a new one, and loses nothing",
    arguments: Kind.all)
  func everyKind(_ kind: Kind) async throws {
    let (ada, bob) = (try vault("ada"), try vault("bob"))
    let expired = try signer.token(claims(of: "ada", at: time.now - 3_600_000))
    let network = RefusingBackend(
      CurlBackend(connectSeconds: 600, authorities: nil), method: kind.method, path: kind.path, token: expired)
    let fresh = try token("ada", 2)
    let source = TokenSource(vault: ada, url: server.url, provider: asking { _ in fresh }) {
      FieldVaultRemote(transport: $0)
    }
    let url = server.url
    let transport = HTTPTransport(
      address: try ServerAddress(url), limits: limits, clock: .system, backend: network, renewal: source,
      token: { try ada.remoteToken(for: url) })
    let subject = SyncWorker(
      vault: ada, remote: FieldVaultRemote(transport: transport), monitor: NetworkMonitor(fixed: .online))
    let other = try worker(bob)
    func sync(_ worker: SyncWorker, isFull: Bool = false) async throws {
      let report = try await worker.sync(RoundRequest(isFull: isFull))
      #expect(
        report.outcome == .done && report.failed + report.filesFailed == 0, "\(String(describing: report.failure))")
    }
    let house = try await ada.database.write { try $0.insert(Project(title: "House")).uuid }
    let roof = try attach(ada, to: house, "roof.bin")
    try await sync(subject)
    try await sync(other)
    let mill = try await bob.database.write { try $0.insert(Project(title: "Mill")).uuid }
    let wheel = try attach(bob, to: mill, "wheel.bin")
    try await sync(other)
    try await sync(subject, isFull: true)
    #expect(!isHere(ada, wheel) && !isHere(bob, roof))
    try await sync(subject)
    try await sync(other)
    if kind.path == "/v1/watch" {
      let running = Task { try await subject.run() }
      try await eventually("the long poll is repeated") { network.requests >= 2 }
      _ = try await bob.database.write { try $0.insert(Project(title: "Dam")) }
      try await sync(other)
      try await eventually("the long poll reports the change") {
        try await ada.database.read { try $0.fetchOne("SELECT count(*) FROM OfflineProject", as: Int.self) } == 3
      }
      running.cancel()
      _ = await running.result
      #expect(
        try await ada.database.read {
          try $0.fetchOne("SELECT count(*) FROM SyncRun WHERE outcome = 'paused'", as: Int.self)
        } == 0)
    }
    #expect(network.requests >= 2)
    #expect(asked.withLock { $0 } == [.refused])
    #expect(try storedToken(ada) == fresh)
    #expect(try content(ada, wheel) == content(bob, wheel) && content(ada, roof) == content(bob, roof))
    #expect(try await unsent(ada) == [])
    let (ours, theirs) = (try await digests(ada), try await digests(bob))
    #expect(ours == theirs)
    await server.stop()
  }

  @Test("A token that has expired is renewed, stored in the vault, and used after a restart without the provider")
  func restart() async throws {
    let ada = try vault("ada")
    try await ada.database.write { _ = try $0.insert(Project(title: "House")) }
    #expect(try await worker(ada).sync().pushed == 1)
    time.advance(by: .seconds(700))
    try await ada.database.write { _ = try $0.insert(Project(title: "Mill")) }
    let paused = try await worker(ada).sync()
    #expect(paused.outcome == .paused && paused.failure?.message.contains("does not accept the token") == true)
    let fresh = try token("ada", 2)
    #expect(try await worker(ada, asking { _ in fresh }).sync().pushed == 1)
    #expect(asked.withLock { $0 } == [.refused])
    try await ada.database.write { _ = try $0.insert(Project(title: "Dam")) }
    #expect(try await worker(ada).sync().pushed == 1)
    await server.stop()
  }

  @Test("A new token of another account is neither stored nor used, and the operations wait for their account")
  func otherAccount() async throws {
    let ada = try vault("ada")
    _ = try directory.addUser("eve", account: "fire", role: .device, expires: nil)
    #expect(try await worker(ada).sync().outcome == .done)
    time.advance(by: .seconds(700))
    let before = try storedToken(ada)
    try await ada.database.write { _ = try $0.insert(Project(title: "Secret")) }
    let foreign = try token("eve", 2, ["account": "fire"])
    let report = try await worker(ada, asking { _ in foreign }).sync()
    #expect(report.outcome == .paused && report.failure?.responseClass == .pauseCredentials)
    #expect(
      report.failure?.message
        == "no valid token could be obtained: this vault belongs to the account 'water', but the token belongs to 'fire'"
    )
    #expect(try storedToken(ada) == before)
    #expect(try await unsent(ada) == ["pending0"])
    let fresh = try token("ada", 3)
    #expect(try await worker(ada, asking { _ in fresh }).sync().pushed == 1)
    await server.stop()
  }

  @Test("Without a better token sync pauses with the reason, and the next round asks again")
  func noBetterToken() async throws {
    let ada = try vault("ada")
    #expect(try await worker(ada).sync().outcome == .done)
    time.advance(by: .seconds(700))
    let old = try #require(try storedToken(ada))
    let expired = try signer.token(claims(of: "ada", at: time.now - 3_600_000))
    try await ada.database.write { _ = try $0.insert(Project(title: "House")) }
    let cases: [(TokenProvider, String)] = [
      ({ _ in throw NotSignedIn() }, "no valid token could be obtained: nobody is signed in"),
      ({ _ in old }, "the server does not accept the token (status 401): the token has expired"),
      ({ _ in nil }, "the server does not accept the token (status 401): the token has expired"),
      (
        { _ in expired },
        "no valid token could be obtained: the new token was refused: the server does not accept the token (status 401): "
          + "the token has expired"
      ),
    ]
    for (provider, message) in cases {
      asked.withLock { $0 = [] }
      let worker = try worker(ada, asking(provider))
      for round in 1...2 {
        let report = try await worker.sync()
        #expect(report.outcome == .paused && report.failure?.message == message)
        #expect(asked.withLock { $0.count } == round)
      }
      #expect(try storedToken(ada) == old)
      #expect(try await unsent(ada) == ["pending0"])
    }
    await server.stop()
  }

  @Test("A token that the user sets or removes while the provider works is kept")
  func changedMeanwhile() async throws {
    let ada = try vault("ada")
    #expect(try await worker(ada).sync().outcome == .done)
    time.advance(by: .seconds(700))
    let (chosen, late) = (try token("ada", 2), try token("ada", 3))
    let url = server.url
    let report = try await worker(
      ada,
      asking { _ in
        try Self.set(ada, url, chosen)
        return late
      }
    ).sync()
    #expect(report.outcome == .done)
    #expect(try storedToken(ada) == chosen)
    time.advance(by: .seconds(700))
    let removed = try await worker(
      ada,
      asking { _ in
        try Self.logOut(ada)
        return late
      }
    ).sync()
    #expect(removed.outcome == .paused)
    #expect(try storedToken(ada) == nil)
    await server.stop()
  }

  private static func set(_ vault: Vault, _ url: String, _ token: String) throws {
    try vault.setRemote(url: url, token: token)
  }

  private static func logOut(_ vault: Vault) throws { _ = try vault.logout() }
}
