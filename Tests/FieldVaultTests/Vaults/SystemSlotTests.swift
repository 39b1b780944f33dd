import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Slots whose secret the operating system keeps, with a real Secret Service in a session of the test's own.
@Suite struct SystemSlotTests {
  private let shop: Workshop

  init() throws {
    shop = try Workshop(.keyFile)
    try FileManager.default.createDirectory(
      atPath: shop.path("run"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// Whether there is all that a session needs.
  private static let hasSession: Bool = {
    #if os(Linux)
      return tool("dbus-run-session") != nil && tool("gnome-keyring-daemon") != nil && tool("timeout") != nil
        && dlopen("libsecret-1.so.0", RTLD_LAZY) != nil
    #else
      return false
    #endif
  }()

  /// Runs a script in a session with an unlocked keyring. In it `fieldvault` is the program, and `without` the program
  /// without the variable that names the key file.
  private func session(_ script: String) throws -> Ran {
    let beginning = """
      printf 'the password of the session' | gnome-keyring-daemon --unlock --components=secrets >/dev/null || exit 90
      fieldvault() { "$PROGRAM" "$@"; }
      without() { FIELDVAULT_KEY_FILE= "$PROGRAM" "$@" </dev/null; }
      set -e

      """
    let file = try shop.write(beginning + script, to: "session.sh")
    let variables = [
      "PROGRAM": try builtProgram("fieldvault"), "XDG_RUNTIME_DIR": shop.path("run"),
      "XDG_DATA_HOME": shop.path("home/data"),
      "XDG_CONFIG_HOME": shop.path("home/config"), "XDG_CACHE_HOME": shop.path("home/cache"),
    ]
    return try run(
      try #require(tool("timeout")), ["120", "dbus-run-session", "--", "/bin/sh", file],
      environment: shop.environment(variables))
  }

  /// A script that sets `slot` to the new slot.
  private let adding = """
    slot=$(fieldvault key add system --label laptop --json | sed -n 's/.*"slot": *"\\([0-9a-f]*\\)".*/\\1/p')
    [ ${#slot} = 8 ]

    """

  @Test(
    "A system slot opens the vault and its backup until the slot is removed",
    .enabled(if: hasSession, "needs dbus-run-session, gnome-keyring-daemon and libsecret"))
  func theSystemOpensTheVaultUntilTheSlotIsRemoved() throws {
    let ran = try session(
      adding
        + """
        without list Room --system --json
        without list Room --json >again
        fieldvault backup job.backup --quiet
        without restore job.backup --vault restored.vault --system --quiet
        without list Room --vault restored.vault --json >restored
        fieldvault key remove $slot --quiet
        without list Room --vault restored.vault --system && exit 91
        without list Room --system && exit 92
        without list Room && exit 93
        fieldvault list Room --quiet >/dev/null
        """.replacing("again", with: shop.path("again")).replacing("job.backup", with: shop.path("job.backup"))
        .replacing("restored.vault", with: shop.path("restored.vault"))
        .replacing(">restored", with: ">" + shop.path("restored")))
    #expect(ran.status == 0, "\(ran.errors)")
    #expect(try ran.rows().map { $0["title"] as? String } == ["Attic"])
    #expect(try String(contentsOfFile: shop.path("again"), encoding: .utf8) == ran.output)
    #expect(try String(contentsOfFile: shop.path("restored"), encoding: .utf8) == ran.output)
    // The copy still has the slot; its secret is gone with that of the original.
    #expect(ran.errors.contains("the system's secret store has no secret for this vault"), "\(ran.errors)")
    #expect(ran.errors.contains("the keyring has no slot of the kind system"), "\(ran.errors)")
    #expect(ran.errors.contains("there is no terminal"), "\(ran.errors)")
  }

  @Test(
    "A new root key keeps the system slot or removes its secret",
    .enabled(if: hasSession, "needs dbus-run-session, gnome-keyring-daemon and libsecret"))
  func aNewRootKeyKeepsTheSlotOrTakesItsSecretAway() throws {
    let ran = try session(
      adding + """
        fieldvault key rotate --root --also-system --quiet
        without list Room --system --json
        cp -r "$FIELDVAULT_VAULT" "$FIELDVAULT_VAULT.copy"
        fieldvault key rotate --root --yes --quiet
        without list Room --system --vault "$FIELDVAULT_VAULT.copy" && exit 91
        exit 0
        """)
    #expect(ran.status == 0, "\(ran.errors)")
    #expect(try ran.rows().count == 1)
    #expect(ran.errors.contains("the system's secret store has no secret for this vault"), "\(ran.errors)")
  }

  @Test(
    "A locked secret store is an error with exit code 3",
    .enabled(
      if: hasSession && tool("dbus-send") != nil, "needs dbus-run-session, gnome-keyring-daemon and libsecret"))
  func aStoreThatStaysLockedIsAnError() throws {
    let ran = try session(
      adding + """
        dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets \\
          org.freedesktop.Secret.Service.Lock array:objpath:/org/freedesktop/secrets/collection/login >/dev/null
        status=0; without list Room --system || status=$?; [ $status = 3 ]
        status=0; fieldvault key add system || status=$?; [ $status = 3 ]
        status=0; without list Room || status=$?; [ $status = 3 ]
        fieldvault key list --json
        fieldvault key remove $slot >/dev/null
        """)
    #expect(ran.status == 0, "\(ran.errors)")
    #expect(ran.errors.contains("the system's secret store is locked and was not unlocked"), "\(ran.errors)")
    #expect(ran.errors.contains("the system's secret store refused the request"), "\(ran.errors)")
    #expect(ran.errors.contains("may still be in the system's secret store"), "\(ran.errors)")
    #expect(ran.errors.contains("there is no terminal"), "\(ran.errors)")
    #expect(try ran.rows().map { $0["kind"] as? String } == ["key-file", "system"])
  }

  #if os(Linux)
    @Test("Without a session the system slot fails with a clear error and does not hang")
    func withoutASessionThereIsAClearErrorAndNothingHangs() throws {
      let keyring = try Data(contentsOf: URL(fileURLWithPath: shop.path("v.vault/keyring.json")))
      for address in [nil, "unix:path=" + shop.path("nowhere"), "nonsense"] {
        let start = ContinuousClock.now
        let variables = address.map { ["DBUS_SESSION_BUS_ADDRESS": $0] } ?? [:]
        let ran = try shop.run(["key", "add", "system"], environment: variables)
        #expect(ran.status == 3, "\(ran.errors)")
        #expect(ran.errors.contains("error: the system's secret store cannot be reached"), "\(ran.errors)")
        #expect(ran.errors.contains("hint:"))
        #expect(ran.output.isEmpty)
        #expect(ContinuousClock.now - start < .seconds(20))
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: shop.path("v.vault/keyring.json"))) == keyring)
    }

    @Test("A missing libsecret is reported") func withoutTheLibraryThereIsAClearError() throws {
      try shop.write("", to: "libraries/libsecret-1.so.0")
      let path = [shop.path("libraries"), ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]].compactMap { $0 }
      let ran = try shop.run(
        ["key", "add", "system"], environment: ["LD_LIBRARY_PATH": path.joined(separator: ":")])
      #expect(ran.status == 3, "\(ran.errors)")
      #expect(ran.errors.contains("libsecret-1.so.0 is not installed"), "\(ran.errors)")
    }

    @Test(
      "A session bus that never responds is given up after a timeout",
      .enabled(if: dlopen("libsecret-1.so.0", RTLD_LAZY) != nil, "needs libsecret"))
    func unresponsiveBusTimesOut() throws {
      let bus = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      defer { close(bus) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: shop.path("mute").utf8) }
      let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(bus, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      #expect(bound == 0 && listen(bus, 5) == 0)
      let start = ContinuousClock.now
      let ran = try shop.run(
        ["key", "add", "system"], environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=" + shop.path("mute")])
      #expect(ran.status == 3, "\(ran.errors)")
      #expect(ran.errors.contains("it does not respond"), "\(ran.errors)")
      #expect(ContinuousClock.now - start < .seconds(20))
    }
  #endif

  @Test("--system needs a system slot") func theOptionNeedsASlotOfThatKind() throws {
    let ran = try shop.run("list", "Room", "--system")
    #expect(ran.status == 3 && ran.errors.contains("has no slot of the kind system"), "\(ran.errors)")
    let new = try shop.run(["init", "--schema", "restoration", "--system"], vault: "new.vault")
    #expect(new.status == 2 && new.errors.contains("fieldvault key add system"), "\(new.errors)")
    #expect(!FileManager.default.fileExists(atPath: shop.path("new.vault")))
    let two = try shop.run("list", "Room", "--system", "--key-file", shop.path("key"))
    #expect(two.status == 2, "\(two.errors)")
  }
}
