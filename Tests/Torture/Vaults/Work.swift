import Foundation
import TestSupport
import VaultStore
import VaultKeys

/// What a process does while it meets its end.
enum Work: String, CaseIterable {
  case commits, checkpoint, migration, rotation
  case rootRotation = "root-rotation"
  case slots, passphrase, backup, restore
  /// Photos are taken in, deleted, and make room.
  case photos

  /// Whether it is our own child, which acknowledges rows.
  var isChild: Bool { self == .commits || self == .checkpoint }

  /// Whether a run without a kill ends by itself.
  static let childCount = 24
  static let photoSteps = 14

  /// Prepares a copied vault for it, and says the program and its arguments.
  func command(_ place: Place, _ random: inout Seeded, isEndless: Bool = false) throws -> [String] {
    let count = isEndless ? "0" : String(Work.childCount)
    switch self {
    case .commits: return [place.programs.torture, "--child", "commits", place.vault, place.keyFile, count, "0"]
    case .checkpoint: return [place.programs.torture, "--child", "commits", place.vault, place.keyFile, count, "4"]
    case .photos:
      let sources = place.folder + "/sources"
      try FileManager.default.createDirectory(atPath: sources, withIntermediateDirectories: true)
      let seed = String(random.next() >> 1)
      return [place.programs.torture, "--child", "photos", place.vault, place.keyFile, sources, seed]
    case .migration: return place.command(["migrate", "apply"])
    case .rotation: return place.command(["key", "rotate"])
    case .rootRotation: return place.command(["key", "rotate", "--root", "--yes"])
    case .slots: return try slots(place, &random)
    case .passphrase:
      try Work.write("a new passphrase\n", to: place.newPassphrase)
      guard
        let slot = try KeyringFile.read(at: place.vault + "/keyring.json").slots.first(where: { $0.kind == .passphrase }
        )
      else { throw Unexpected("there is no passphrase") }
      return place.command([
        "key", "passphrase", "--slot", slot.id, "--new-passphrase-file", place.newPassphrase,
      ])
    case .backup:
      // Half of the runs replace an older backup.
      if Bool.random(using: &random) { try place.finish(["backup", place.backup]) }
      return place.command(["backup", place.backup])
    case .restore:
      try place.finish(["backup", place.backup])
      return place.command(["restore", place.backup], vault: place.copy)
    }
  }

  private func slots(_ place: Place, _ random: inout Seeded) throws -> [String] {
    _ = try KeyFile.create(at: place.newKey)
    let adding = ["key", "add", "key-file", "--new-key-file", place.newKey]
    if Bool.random(using: &random) { return place.command(adding) }
    try place.finish(adding)
    guard let slot = try KeyringFile.read(at: place.vault + "/keyring.json").slots.last else {
      throw Unexpected("no slot was added")
    }
    return place.command(["key", "remove", slot.id])
  }

  /// Checks the vault, and what the work made beside it.
  func check(_ place: Place, least: Int, isDone: Bool) throws {
    try VaultCheck.whole(
      place.vault, keyFile: place.keyFile, least: least, isMigrating: self == .migration,
      isMigrated: self == .migration && isDone)
    switch self {
    case .rotation, .rootRotation:
      let generation = try KeyringFile.read(at: place.vault + "/keyring.json").generation.number
      guard generation == 2 || (generation == 1 && !isDone) else {
        throw Unexpected("generation \(generation), \(isDone ? "and the rotation was done" : "out of nowhere")")
      }
    case .passphrase: try checkPassphrase(place, isDone: isDone)
    case .backup: try checkBackup(place, least: least, isDone: isDone)
    case .restore: try checkRestored(place, least: least, isDone: isDone)
    case .photos:
      try PhotoCheck.whole(
        place.vault, keyFile: place.keyFile, told: try String(contentsOfFile: place.output, encoding: .utf8))
    default: break
    }
  }

  private func checkPassphrase(_ place: Place, isDone: Bool) throws {
    let keyring = try KeyringFile.read(at: place.vault + "/keyring.json")
    let isNew = try opens(keyring, "a new passphrase")
    guard isNew || !isDone else { throw Unexpected("done, and the new passphrase does not open") }
    if isNew { return }
    guard try opens(keyring, Work.oldPassphrase) else { throw Unexpected("neither passphrase opens") }
  }

  private func opens(_ keyring: Keyring, _ text: String) throws -> Bool {
    var bytes = Array(text.utf8)
    let secret = UnlockSecret.passphrase(try SecureBytes(wiping: &bytes))
    do {
      _ = try keyring.unlock(with: secret)
    } catch {
      if error.code == .wrongSecret { return false }
      throw error
    }
    return true
  }

  private func checkBackup(_ place: Place, least: Int, isDone: Bool) throws {
    guard FileManager.default.fileExists(atPath: place.backup) else {
      if isDone { throw Unexpected("done, and there is no backup") }
      if place.hasPrepared { throw Unexpected("the older backup is gone") }
      return
    }
    try place.finish(["restore", place.backup], vault: place.copy)
    try VaultCheck.whole(place.copy, keyFile: place.keyFile, least: least)
  }

  private func checkRestored(_ place: Place, least: Int, isDone: Bool) throws {
    guard FileManager.default.fileExists(atPath: place.copy) else {
      if isDone { throw Unexpected("done, and there is no vault") }
      // What is left of the first try is not in the way of a second one.
      return try place.finish(["restore", place.backup], vault: place.copy)
    }
    try VaultCheck.whole(place.copy, keyFile: place.keyFile, least: least)
  }

  static let oldPassphrase = "the old passphrase"

  static func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }
}

/// The command is not part of the program.
struct Unavailable: Error {}

extension Place {
  var newKey: String { folder + "/new-key" }
  var newPassphrase: String { folder + "/new-passphrase" }
  var backup: String { folder + "/backup" }
  var copy: String { folder + "/copy" }

  func command(_ words: [String], vault: String? = nil) -> [String] {
    [programs.fieldvault, "--vault", vault ?? self.vault, "--key-file", keyFile] + words
  }

  /// Whether ``finish(_:vault:)`` has run.
  var hasPrepared: Bool { FileManager.default.fileExists(atPath: folder + "/preparing") }

  /// Runs a command of the program to its end.
  func finish(_ words: [String], vault: String? = nil) throws {
    let process = try RunningProcess(
      command(words, vault: vault), output: folder + "/preparing", errors: folder + "/preparing-errors")
    switch try process.wait() {
    case .exit(0): return
    case .exit(2): throw Unavailable()
    case let ending:
      let text = try String(contentsOfFile: folder + "/preparing-errors", encoding: .utf8)
      throw Unexpected("\(words.joined(separator: " ")): \(ending): \(text)")
    }
  }
}
