import Platform
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Checks of permissions, leftovers and free space. They do not read the content of any file.
extension Doctor {
  /// A file or folder whose mode differs from the expected one.
  struct PermissionFinding {
    let path: String
    let mode: mode_t
    let wanted: mode_t
  }

  func checkPermissions(_ diagnosis: inout Diagnosis) {
    for item in looseItems() {
      diagnosis.add(
        .warning, "permissions",
        "\(item.path) has the mode \(Self.octal(item.mode)) instead of \(Self.octal(item.wanted))",
        meaning: item.mode & ~item.wanted != 0
          ? "other users of this machine may have access; the content is encrypted"
          : "its owner cannot use it", next: .repairVault)
    }
    for path in foreignItems() {
      diagnosis.add(
        .warning, "permissions", "\(path) belongs to another user than the vault's folder",
        meaning: "the vault may stop working for one of them",
        next: .advice("chown it to the owner of the vault's folder"))
    }
    diagnosis.checked.append("the permissions: folders 0700, files 0600, one owner")
  }

  /// Returns the files and folders in the vault whose mode is not 0600 or 0700.
  func looseItems() -> [PermissionFinding] {
    items(in: layout.folder).compactMap { path, status in
      let kind = status.st_mode & S_IFMT
      guard kind == S_IFDIR || kind == S_IFREG else { return nil }
      let wanted: mode_t = kind == S_IFDIR ? 0o700 : 0o600
      let mode = status.st_mode & 0o7777
      return mode == wanted ? nil : PermissionFinding(path: path, mode: mode, wanted: wanted)
    }
  }

  private func foreignItems() -> [String] {
    let all = items(in: layout.folder)
    guard let owner = all.first?.status.st_uid else { return [] }
    return all.filter { $0.status.st_uid != owner }.map(\.path)
  }

  /// Returns a path and all paths below it, without following symbolic links.
  private func items(in path: String) -> [(path: String, status: stat)] {
    var status = stat()
    guard lstat(path, &status) == 0 else { return [] }
    var found = [(path: path, status: status)]
    guard status.st_mode & S_IFMT == S_IFDIR else { return found }
    for name in names(in: path) { found += items(in: path + "/" + name) }
    return found
  }

  /// Returns the names in a folder. An unreadable folder is reported as not checked.
  private func names(in path: String) -> [String] {
    do throws(FileError) {
      return try Files.names(in: path)
    } catch {
      unreadable.insert(error.message)
      return []
    }
  }

  static func octal(_ mode: mode_t) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }

  func checkOrphans(_ diagnosis: inout Diagnosis) {
    for path in ownOrphans() {
      diagnosis.add(
        .warning, "orphans", "\(path) is a leftover of interrupted work",
        meaning: "it uses space and may be readable with an old key", next: .repairVault)
    }
    for path in strangers() {
      diagnosis.add(
        .note, "orphans", "\(path) is not part of a vault", meaning: "the file is not used",
        next: .advice("move it elsewhere, or leave it"))
    }
    diagnosis.checked.append("leftovers of interrupted work, and foreign files")
  }

  /// Returns the vault's own leftovers: generations that are not current, an unfinished keyring, the copy of an
  /// interrupted repair, and drafts.
  func ownOrphans() -> [String] {
    var found: [String] = []
    // Without the keyring the current generation is unknown.
    if let keys { found += OrphanedGenerations.orphans(layout, current: keys.keyring.generation.number) }
    if Files.exists(repairFolder) { found.append(repairFolder) }
    return found + abandonedDrafts()
  }

  /// The folder of the database copy on which a repair is tried.
  var repairFolder: String { layout.databases + "/repair" }

  /// Returns the abandoned drafts of this vault and of salvaged vaults beside it.
  private func abandonedDrafts() -> [String] {
    let parent = Files.parent(of: layout.folder)
    let name = Files.name(of: layout.folder)
    let salvaged = Salvage.stem(of: name) + ".salvaged"
    return names(in: parent).filter {
      $0 == name + ".making" || $0.hasPrefix(salvaged) && $0.hasSuffix(".vault.making")
    }
    .map { parent == "/" ? "/" + $0 : layout.folder.contains("/") ? parent + "/" + $0 : $0 }.filter(Self.isAbandoned)
  }

  static func isAbandoned(_ draft: String) -> Bool {
    let lock = VaultLayout(folder: draft).lock
    guard Files.isFolder(draft) else { return false }
    guard Files.exists(lock) else { return true }
    return (try? VaultLock(path: lock, mode: .exclusive)) != nil
  }

  private func strangers() -> [String] {
    let known = ["keyring.json", ".keyring.json.tmp", "lock", "sync.lock", "db", "attachments"]
    var found = names(in: layout.folder).filter { !known.contains($0) }.map { layout.folder + "/" + $0 }
    for name in names(in: layout.databases) where name != "repair" {
      let path = layout.databases + "/" + name
      guard VaultLayout.generationNumber(of: name) != nil else {
        found.append(path)
        continue
      }
      let parts = ["vault.db", "vault.db-wal", "vault.db-shm", "vault.db-journal"]
      found += names(in: path).filter { !parts.contains($0) }.map { path + "/" + $0 }
    }
    return found
  }

  func checkSpace(_ diagnosis: inout Diagnosis) {
    let free: Int
    do throws(FileError) {
      free = try Files.freeBytes(at: layout.folder)
    } catch {
      unreadable.insert(error.message)
      return
    }
    diagnosis.checked.append("the free space: \(free >> 20) MiB")
    let database = keys.flatMap { Files.size(of: layout.database(generation: $0.keyring.generation.number)) } ?? 0
    if free < 64 << 20 {
      diagnosis.add(
        .warning, "space", "only \(free >> 20) MiB are free on the disk of the vault",
        meaning: "new records may soon fail; stored records are safe", next: .advice("free some space"))
    } else if free < database {
      diagnosis.add(
        .warning, "space", "\(free >> 20) MiB are free, but the database has \(database >> 20) MiB",
        meaning: "its key cannot be rotated, which requires space for a second database",
        next: .freeSpaceForRotation)
    }
  }
}
