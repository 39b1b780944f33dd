import CPlatform
import Foundation
import Platform
import TestSupport
import Testing

@testable import FieldVaultCommand

/// `unlock` and `lock` with the real program and its key agent.
@Suite("Unlocking for a while", .serialized)
final class UnlockCommandTests {
  private let shop: Workshop

  init() throws {
    shop = try Workshop(.passphrase)
    try FileManager.default.createDirectory(
      atPath: shop.path("run"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit {
    for vault in ["v.vault", "other.vault"] { _ = try? run("lock", vault: vault) }
  }

  /// Runs the program without a secret.
  private func run(_ arguments: String..., vault: String = "v.vault") throws -> Ran {
    try shop.run(
      arguments, vault: vault,
      environment: ["FIELDVAULT_PASSPHRASE_FILE": "", "XDG_RUNTIME_DIR": shop.path("run")])
  }

  /// Unlocks a vault with its passphrase.
  @discardableResult
  private func unlock(_ time: String = "10m", vault: String = "v.vault") throws -> Ran {
    let ran = try run("unlock", "--for", time, "--passphrase-file", shop.path("passphrase"), vault: vault)
    #expect(ran.status == 0, "\(ran.errors)")
    return ran
  }

  private func isUnlocked(_ vault: String = "v.vault") throws -> Bool {
    let ran = try run("list", "Room", "--json", vault: vault)
    #expect([0, 3].contains(ran.status), "\(ran.errors)")
    return ran.status == 0
  }

  private var sockets: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: shop.path("run/fieldvault")) }
  }

  @Test("After 'unlock' commands need no secret until 'lock'")
  func unlocksUntilLocked() throws {
    #expect(try !isUnlocked())
    let ran = try unlock()
    #expect(ran.output.hasPrefix("Unlocked ") && ran.output.hasSuffix(" UTC.\n"), "\(ran.output)")
    #expect(try isUnlocked())
    #expect(try run("put", "Room", "title=Cellar", "projectId=\(Workshop.project)", "-q").status == 0)
    #expect(try run("list", "Room", "--json").rows().count == 2)
    #expect(try run("key", "list", "--json").rows().count == 1)
    #expect(try run("status", "--json").object()["unlockedUntil"] is String)
    #expect(try run("status").output.contains("Unlocked   until "))
    #expect(try run("lock").output == "Locked \(shop.path("v.vault")).\n")
    #expect(try sockets.isEmpty)
    #expect(try !isUnlocked())
    #expect(try run("lock", "--json").object()["wasUnlocked"] as? Bool == false)
    #expect(try shop.done("status", "--json").object()["unlockedUntil"] is NSNull)
  }

  @Test(
    "Commands that need the root key still ask for a secret",
    arguments: [
      ["backup", "@b"], ["key", "add", "recovery"], ["key", "rotate"], ["key", "export", "@k"], ["doctor"],
      ["key", "passphrase"], ["key", "remove", "00000000"], ["unlock"],
    ])
  func rootKeyIsNotHandedOut(_ arguments: [String]) throws {
    try unlock()
    let ran = try shop.run(
      arguments, environment: ["FIELDVAULT_PASSPHRASE_FILE": "", "XDG_RUNTIME_DIR": shop.path("run")])
    #expect(ran.status == 3 && ran.errors.contains("there is no terminal"), "\(ran.errors)")
    #expect(try isUnlocked())
  }

  @Test("A secret that an option names is used, also if it is wrong")
  func namedSecretsComeFirst() throws {
    try unlock()
    try shop.write("wrong\n", to: "wrong")
    #expect(try run("list", "Room", "--passphrase-file", shop.path("wrong")).status == 3)
    #expect(try run("unlock", "--passphrase-file", shop.path("wrong")).status == 3)
    #expect(try isUnlocked())
  }

  @Test("The agent ends at its time") func endsAtItsTime() throws {
    try unlock("2s")
    let start = ContinuousClock.now
    #expect(try isUnlocked())
    try blockUntil("the vault is locked") { try !isUnlocked() }
    #expect(ContinuousClock.now - start < .seconds(20))
    try blockUntil("the socket is removed") { try sockets.isEmpty }
  }

  @Test("A second 'unlock' replaces the time of the first") func unlocksAgain() throws {
    try unlock("2s")
    try unlock("10m")
    Thread.sleep(forTimeInterval: 3)
    #expect(try isUnlocked())
    #expect(try sockets.count == 1)
  }

  @Test(
    "A change of the keyring locks the vault",
    arguments: [["key", "rotate"], ["key", "rotate", "--root"], ["key", "add", "recovery"]])
  func changesOfTheKeyringLock(_ arguments: [String]) throws {
    try unlock()
    let ran = try shop.run(arguments, environment: ["XDG_RUNTIME_DIR": shop.path("run")])
    #expect(ran.status == 0, "\(ran.errors)")
    #expect(try !isUnlocked())
    try blockUntil("the agent has ended") { try sockets.isEmpty }
  }

  @Test("The agent of a deleted vault ends") func deletedVaults() throws {
    try unlock()
    try FileManager.default.removeItem(atPath: shop.path("v.vault"))
    try blockUntil("the agent has ended") { try sockets.isEmpty }
    #expect(try run("list", "Room").status == 4)
  }

  @Test("Two vaults are unlocked and locked apart, also if one is a copy of the other") func twoVaults() throws {
    try FileManager.default.copyItem(atPath: shop.path("v.vault"), toPath: shop.path("other.vault"))
    try unlock()
    #expect(try isUnlocked() && !isUnlocked("other.vault"))
    try unlock(vault: "other.vault")
    #expect(try isUnlocked() && isUnlocked("other.vault"))
    #expect(try run("lock").status == 0)
    #expect(try !isUnlocked() && isUnlocked("other.vault"))
  }

  @Test("Broken clients do not disturb the agent") func brokenClients() throws {
    try unlock()
    let socket = shop.path("run/fieldvault/\(try #require(try sockets.first))")
    var open: [Int32] = []
    defer { for descriptor in open { close(descriptor) } }
    for index in 0..<40 {
      let descriptor = try #require(LocalSocket.connect(to: socket))
      open.append(descriptor)
      let sent: [UInt8] = [[], Array("fieldvault-agent/1 op".utf8), [UInt8](repeating: 0xAA, count: 60_000)][index % 3]
      _ = sent.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }
    #expect(try isUnlocked())
    #expect(try run("status", "--json").object()["unlockedUntil"] is String)
    for descriptor in open { close(descriptor) }
    open = []
    #expect(try isUnlocked())
  }

  @Test("A folder that others may enter is refused") func openFolder() throws {
    try FileManager.default.createDirectory(
      atPath: shop.path("run/fieldvault"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    let ran = try run("unlock", "--passphrase-file", shop.path("passphrase"))
    #expect(ran.status == 1 && ran.errors.contains("is not a folder that only you may enter"), "\(ran.errors)")
    #expect(try sockets.isEmpty)
  }

  @Test("Without XDG_RUNTIME_DIR the socket is below HOME, and without both there is an error") func places() throws {
    let secret = ["FIELDVAULT_PASSPHRASE_FILE": shop.path("passphrase")]
    #expect(try shop.run(["unlock", "-q"], environment: secret).status == 0)
    let folder = shop.path("home/.fieldvault")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
    #expect(try shop.run(["lock"]).output.hasPrefix("Locked "))
    let ran = try shop.run(["unlock"], environment: secret.merging(["HOME": "", "XDG_RUNTIME_DIR": "run"]) { $1 })
    #expect(ran.status == 1 && ran.errors.contains("set XDG_RUNTIME_DIR or HOME"), "\(ran.errors)")
    let long = shop.path(String(repeating: "x", count: 100))
    try FileManager.default.createDirectory(atPath: long, withIntermediateDirectories: false)
    let far = try shop.run(["unlock"], environment: secret.merging(["XDG_RUNTIME_DIR": long]) { $1 })
    #expect(far.status == 1 && far.errors.contains("too long"), "\(far.errors)")
  }

  @Test("A wrong time is refused before a secret is read", arguments: ["0", "13h", "soon", "-5"])
  func wrongTimes(_ time: String) throws {
    let ran = try run("unlock", "--for=\(time)")
    #expect(ran.status == 2 && ran.errors.contains("from 1s to 12h"), "\(ran.errors)")
  }

  #if os(Linux)
    /// The process of the agent.
    private func agent() throws -> pid_t {
      let found = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.filter { id in
        let words = (try? Processes.content("/proc/\(id)/cmdline").split(separator: "\n")) ?? []
        return words.contains("key-agent") && words.contains { $0.hasPrefix(shop.path("run")) }
      }
      guard found.count == 1 else { throw Unexpected("\(found.count) agents") }
      return found[0]
    }

    /// Whether a process has ended. A container may have no process that collects orphans.
    private func hasEnded(_ id: pid_t) -> Bool {
      guard let status = try? Processes.content("/proc/\(id)/status") else { return true }
      return status.contains("State:\tZ")
    }

    @Test("The socket of a killed agent is replaced") func killedAgents() throws {
      try unlock()
      let killed = try agent()
      kill(killed, SIGKILL)
      try blockUntil("the agent has ended") { hasEnded(killed) }
      #expect(try sockets.count == 1)
      #expect(try !isUnlocked())
      #expect(try run("status").status == 3)
      try unlock()
      #expect(try sockets.count == 1)
      #expect(try isUnlocked())
    }

    @Test("SIGTERM ends the agent and removes its socket") func terminatedAgents() throws {
      try unlock()
      let id = try agent()
      kill(id, SIGTERM)
      try blockUntil("the agent has ended") { hasEnded(id) }
      #expect(try sockets.isEmpty)
    }

    @Test("A stopped agent does not stop commands, and ends after 'lock'") func stoppedAgents() throws {
      try unlock()
      let id = try agent()
      kill(id, SIGSTOP)
      defer { kill(id, SIGCONT) }
      let start = ContinuousClock.now
      #expect(try !isUnlocked())
      #expect(ContinuousClock.now - start < .seconds(15))
      #expect(try run("lock").status == 0)
      #expect(try sockets.isEmpty)
      kill(id, SIGCONT)
      try blockUntil("the agent has ended") { hasEnded(id) }
    }

    @Test("The agent has locked memory, no core files, no variables and no vault open") func processOfTheAgent() throws
    {
      try unlock()
      let id = try agent()
      let status = try Processes.content("/proc/\(id)/status")
      let locked = status.split(separator: "\n").first { $0.hasPrefix("VmLck:") }
      #expect(locked?.contains(" 0 kB") == false, "\(String(describing: locked))")
      #expect(try Processes.content("/proc/\(id)/limits").contains("Max core file size        0 "))
      #expect(try !Processes.content("/proc/\(id)/environ").contains("FIELDVAULT_"))
      let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/fd/\($0)")
      }
      #expect(!files.contains { $0.hasPrefix(shop.path("")) }, "\(files)")
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/cwd") == "/")
      // Not dumpable: its files in /proc belong to root, and no process of the user may trace it.
      var file = stat()
      #expect(stat("/proc/\(id)/mem", &file) == 0 && file.st_uid == 0)
    }
  #endif
}
