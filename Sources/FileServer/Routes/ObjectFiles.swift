import CPlatform
import HTTPServer
import Platform
import SQLCipherStorage
import SealedFiles
import ServerStorage
import SyncModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The files of accounts whose bytes are in an object store. The tables of the account describe them.
///
/// The row comes before the object: an upload has a row before an address is returned. An object is removed after its
/// row, by way of `ObjectRemoval`, so that an unreachable store or a crash leaves no orphaned object. Keys are random
/// and contain nothing from a client.
package struct ObjectFiles: Sendable {
  let store: ObjectStore
  let database: any ObjectDatabase
  let log: RequestLog
  let environment: Environment
  /// Returns the folder for a temporary copy of an object that has to be compared.
  let scratch: @Sendable (AccountName) -> String

  package init(
    store: ObjectStore, database: any ObjectDatabase, log: RequestLog,
    environment: Environment, scratch: @escaping @Sendable (AccountName) -> String = { _ in "/tmp" }
  ) {
    (self.store, self.database, self.log) = (store, database, log)
    (self.environment, self.scratch) = (environment, scratch)
  }

  /// A file that will be sent.
  struct New: Sendable {
    let userId: Int64
    let name: ContentName
    let byteCount: Int64
    let sha256: String
    let contentType: String
    /// Whether the records of the content have a key and a digest, so that the finished upload can be compared with
    /// them.
    var isProvable = false
  }

  /// The reason why an upload is not confirmed.
  enum Refusal: Error, Equatable {
    /// The store has no object with its key.
    case notSent
    /// The object in the store differs from the announcement in this member.
    case mismatch(String)
    /// The store could not be reached.
    case notReached
  }

  private func key(_ account: AccountName, _ id: String) -> String { "\(account.folder)/\(id)" }

  // MARK: Sending

  /// Reserves space for a file and returns the address for its upload. A repeated request for the same file returns the
  /// same key, so that bytes that were sent before a lost response are found.
  /// - Throws: ``FileRefusal`` with `exists` or `overQuota`; ``Refusal`` with `notReached`.
  func begin(_ account: AccountName, _ new: New, quota: Int64, expiry: Int64) async throws -> FileAddress {
    if let there = try await content(account, new.name), !there.isReplaceable(proven: new.isProvable) {
      throw FileRefusal.exists
    }
    let upload = ObjectUpload(
      id: DiskFileStorage.newName(environment.random), userId: new.userId, name: new.name, byteCount: new.byteCount,
      sha256: new.sha256,
      contentType: new.contentType)
    let end = store.clock.now() + Int64(store.addressSeconds) * 1_000
    let id = try await database.write(account) { rows -> String in
      guard try rows.isFree(new.name, proven: new.isProvable) else { throw FileRefusal.exists }
      if let known = try rows.upload(of: new.userId, new.name) {
        if known.isSame(as: upload) {
          try rows.extend(known.id, addressEnd: end, expiry: expiry)
          return known.id
        }
        try rows.abandon(known.id)
      }
      try rows.insert(upload, addressEnd: end, expiry: expiry)
      try rows.check(new.userId, quota: quota)
      return upload.id
    }
    var address = store.addressToSend(
      key(account, id), byteCount: new.byteCount, sha256: new.sha256, contentType: new.contentType)
    address.upload = id
    return address
  }

  /// Checks whether a file has arrived, and turns it into a content. Idempotent.
  /// - Throws: ``FileRefusal`` with `exists` if another upload was first, or `gone`; ``Refusal``.
  func confirm(
    _ account: AccountName, _ name: ContentName, by userId: Int64, _ id: String, at time: Int64,
    claims: [ContentClaim] = []
  ) async throws {
    let (upload, content) = try await database.read(account) { (try $0.upload(id), try $0.content(name)) }
    if let content, content.id == id { return }
    guard let upload, upload.userId == userId, upload.name == name else {
      throw content == nil ? FileRefusal.gone : FileRefusal.exists
    }
    guard let found = try await find(account, id) else { throw Refusal.notSent }
    if let member = Self.difference(upload, found) {
      try await database.write(account) { try $0.abandon(id) }
      throw Refusal.mismatch(member)
    }
    // The bucket has the marker from the first content on, so that a later loss of contents differs from another
    // bucket.
    guard try await carriesMarker(account) else { throw Refusal.notReached }
    let proof = try await prove(account, upload, found, claims)
    guard !proof.isRefuted else {
      try await database.write(account) { try $0.abandon(id) }
      throw FileRefusal.mismatch
    }
    // A refusal has to be stored too, so that the bytes are removed.
    let outcome = try await database.write(account) { rows -> Result<Void, FileRefusal> in
      if try rows.content(name)?.id == id { return .success(()) }
      guard try rows.upload(id) != nil else { return .failure(.gone) }
      guard try rows.isFree(name, proven: proof.contentDigest != nil) else {
        try rows.abandon(id)
        return .failure(.exists)
      }
      // Otherwise requests would still get the file on the disk, which could not be compared.
      if let onDisk = try rows.diskFile(name), !onDisk.state.isMissing, !onDisk.state.isRefuted {
        try rows.removeDiskFile(onDisk.file)
      }
      try rows.finish(upload, proof, at: time)
      return .success(())
    }
    try outcome.get()
  }

  /// Returns the member of the announcement that the object contradicts, according to the metadata of the store.
  private static func difference(_ upload: ObjectUpload, _ found: ObjectStore.Found) -> String? {
    if found.byteCount != upload.byteCount { return "bytes" }
    if let sha256 = found.sha256, sha256 != upload.sha256 { return "sha256" }
    if let type = found.contentType, type.lowercased() != upload.contentType { return "contentType" }
    return nil
  }

  /// Compares an object with its announcement and the claims of its records. The object is read only if the store keeps
  /// no digests, or if the object is encrypted.
  private func prove(
    _ account: AccountName, _ upload: ObjectUpload, _ found: ObjectStore.Found, _ claims: [ContentClaim]
  ) async throws -> VerifiedContent {
    let announced = VerifiedContent.hex(Array(Data(base64Encoded: upload.sha256) ?? Data()))
    let digests = claims.compactMap { $0.digest(of: upload.name.variant) }
    if found.sha256 != nil, digests.isEmpty || digests.contains(announced) {
      return VerifiedContent(sha256: announced, contentDigest: digests.first { $0 == announced })
    }
    let proof = try await readProof(account, upload.id, upload.name, claims)
    guard let proof else { throw Refusal.notSent }
    guard proof.sha256 == announced else {
      try await database.write(account) { try $0.abandon(upload.id) }
      throw Refusal.mismatch("sha256")
    }
    return proof
  }

  /// Reads an object into a temporary file next to the account's files; `nil` if the object is missing.
  private func readProof(
    _ account: AccountName, _ id: String, _ name: ContentName, _ claims: [ContentClaim]
  ) async throws -> VerifiedContent? {
    let path = "\(scratch(account))/\(ServerFolder.scratchPrefix)\(id)"
    let file = try ScratchFile(path)
    defer { file.remove() }
    do {
      guard try await store.read(key(account, id), { try file.append($0) }) else { return nil }
    } catch let failure as ObjectStore.Failure {
      log.failure("the object store: \(failure)")
      throw Refusal.notReached
    }
    return try VerifiedContent(ofFileAt: path, name, sha256: file.sha256(), claims: claims)
  }

  private func find(_ account: AccountName, _ id: String) async throws -> ObjectStore.Found? {
    do {
      return try await store.find(key(account, id))
    } catch let failure as ObjectStore.Failure {
      log.failure("the object store: \(failure)")
      throw Refusal.notReached
    }
  }

  // MARK: Contents

  /// Returns a content. If its object is missing or has another length, the content is only marked, because the object
  /// may reappear.
  /// - Throws: ``Refusal`` with `notReached`, also for another bucket.
  func content(_ account: AccountName, _ name: ContentName) async throws -> ObjectContent? {
    guard let content = try await database.read(account, { try $0.content(name) }), !content.isRefuted
    else { return nil }
    guard let found = try await find(account, content.id), found.byteCount == content.byteCount else {
      guard try await carriesMarker(account) else { throw Refusal.notReached }
      let now = store.clock.now()
      try await database.write(account) { try $0.markMissing(content.id, at: now) }
      return nil
    }
    if content.isMissing { try await database.write(account) { try $0.markFound(content.id) } }
    return content
  }

  /// Returns the digests of a content's bytes, and reads them once if they are unknown.
  func digest(_ account: AccountName, _ name: ContentName) async throws -> StoredDigest? {
    guard let content = try await content(account, name) else { return nil }
    if let sha256 = content.sha256 {
      return StoredDigest(byteCount: content.byteCount, sha256: sha256, contentDigest: content.contentDigest)
    }
    guard let proof = try await readProof(account, content.id, name, []) else { return nil }
    try await database.write(account) { try $0.keep(proof, of: content.id) }
    return StoredDigest(byteCount: content.byteCount, sha256: proof.sha256, contentDigest: nil)
  }

  /// Compares a content that was never compared with the claims of its records.
  func prove(_ account: AccountName, _ name: ContentName, _ claims: [ContentClaim]) async throws {
    guard claims.contains(where: { $0.digest(of: name.variant) != nil }) else { return }
    guard let content = try await content(account, name), content.contentDigest == nil else { return }
    guard let proof = try await readProof(account, content.id, name, claims) else { return }
    try await database.write(account) { try $0.keep(proof, of: content.id) }
  }

  /// Returns whether the bucket has the marker of this account. Marks a bucket that was never marked, unless the
  /// account has objects and the bucket contains none of them. Such a bucket belongs to another account or server.
  private func carriesMarker(_ account: AccountName) async throws -> Bool {
    let known = try await database.read(account) { try $0.storeMarker() }
    let marker = key(account, "marker-\(known.text)")
    do {
      if try await store.find(marker) == nil {
        guard !known.isInStore else { return false }
        let contents = try await database.read(account) { try $0.someContents(limit: 20) }
        var holdsOne = contents.isEmpty
        for content in contents where !holdsOne {
          holdsOne = try await store.find(key(account, content.id))?.byteCount == content.byteCount
        }
        guard holdsOne else { return false }
        try await store.putEmpty(marker)
      }
    } catch let failure as ObjectStore.Failure {
      log.failure("the object store: \(failure)")
      throw Refusal.notReached
    }
    if !known.isInStore { try await database.write(account) { try $0.markStore() } }
    return true
  }

  /// Returns the address for a download; `nil` if the content is missing. It checks that the object exists, because
  /// many stores respond to a missing object like to a wrong address.
  /// - Throws: ``Refusal`` with `notReached`.
  func addressToFetch(_ account: AccountName, _ name: ContentName) async throws -> FileAddress? {
    try await content(account, name).map { store.addressToFetch(key(account, $0.id)) }
  }

  /// Writes a content to a new file, decrypted if it is encrypted.
  /// - Returns: `false` if the content is not in the store, or the key does not open it.
  package func copyContent(
    _ account: AccountName, _ name: ContentName, key: [UInt8], to path: String
  ) async throws -> Bool {
    guard let content = try await content(account, name) else { return false }
    let file = try ScratchFile(path + ".part")
    defer { file.remove() }
    guard try await store.read(self.key(account, content.id), { try file.append($0) }) else { return false }
    return try PlainContent.write(fileAt: path + ".part", name, key: key, to: path)
  }

  /// Returns whether the tables name a content in the store. Does not query the store.
  func knows(_ account: AccountName, _ name: ContentName) async throws -> Bool {
    try await database.read(account) { try $0.content(name) } != nil
  }

  // MARK: Removing

  /// Cancels uploads that have waited too long, and removes queued objects from the store.
  package func expire(_ account: AccountName, at time: Int64) async throws {
    for id in try await database.read(account, { try $0.expired(at: time) }) {
      try await database.write(account) { try $0.abandon(id) }
    }
    try await remove(account, at: time)
  }

  /// Marks contents that no record needs, checks missing ones again, and removes the contents that ``FileSweep``
  /// allows.
  package func sweep(_ account: AccountName, _ rule: SweepRule) async throws {
    try await markUnused(account, rule)
    let due = rule.time - FileSweep.grace
    let total = try await database.read(account) { try $0.contentCount() }
    guard total > 0, try await carriesMarker(account) else { return try await remove(account, at: rule.time) }
    var candidates = try await database.read(account) { try $0.unusedContents(since: due) }
      .map { FileSweep.Candidate($0.id, .unused, since: $0.since, isConfirmed: true) }
    for row in try await database.read(account, { try $0.missingContents(since: due) }) {
      let isMissing = try await find(account, row.id)?.byteCount != row.byteCount
      if !isMissing { try await database.write(account) { try $0.markFound(row.id) } }
      candidates.append(.init(row.id, .missing, since: row.since, isConfirmed: isMissing))
    }
    let removable = FileSweep.removable(candidates, ofFiles: total, hasMarker: true, at: rule.time)
    try await database.write(account) { rows in
      for content in removable { try rows.removeContent(content.file, notBefore: 0) }
    }
    try await remove(account, at: rule.time)
  }

  /// Marks the contents that no record needs, and unmarks contents that a record needs again.
  private func markUnused(_ account: AccountName, _ rule: SweepRule) async throws {
    var last = ""
    while true {
      let contents = try await database.read(account) { [last] in try $0.contents(after: last, limit: 500) }
      guard let end = contents.last else { return }
      last = end
      let used = try await rule.inUse(contents)
      try await database.write(account) { rows in
        try rows.markUsed(contents.filter(used.contains))
        try rows.markUnused(
          contents.filter { !used.contains($0) }, neverUsedBefore: rule.neverUsedBefore, at: rule.time)
      }
    }
  }

  /// Removes the queued objects of an account whose deletion has begun, and at last its marker.
  /// - Throws: ``ObjectStore/Failure``.
  package func removeAll(_ account: AccountName, at time: Int64) async throws {
    try await remove(account, at: time)
    let (marker, isDone) = try await database.read(account) { rows in
      (try rows.storeMarker(), try rows.removals(at: .max, limit: 1).isEmpty)
    }
    guard marker.isInStore, isDone else { return }
    try await store.remove(key(account, "marker-\(marker.text)"))
    try await database.write(account) { try $0.unmarkStore() }
  }

  /// Removes objects whose rows were removed. Failed removals are repeated the next time.
  private func remove(_ account: AccountName, at time: Int64) async throws {
    let isIdle = try await database.read(account) { try $0.removals(at: time, limit: 1).isEmpty }
    guard !isIdle, try await carriesMarker(account) else { return }
    while true {
      let ids = try await database.read(account) { try $0.removals(at: time, limit: 100) }
      if ids.isEmpty { return }
      for id in ids {
        try Task.checkCancellation()
        try await store.remove(key(account, id))
        try await database.write(account) { try $0.removed([id]) }
      }
    }
  }
}

/// A temporary file that is written and hashed while an object is read. `@unchecked Sendable` holds because one
/// thread of the transport at a time appends, and the other functions are called when it has finished.
private final class ScratchFile: @unchecked Sendable {
  private let path: String
  private let descriptor: Int32
  private let digest = ContentDigest()

  init(_ path: String) throws {
    self.path = path
    descriptor = cplatform_open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw AccountFiles.failure("make") }
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws {
    digest.add(bytes)
    var rest = bytes
    while !rest.isEmpty {
      let count = write(descriptor, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw AccountFiles.failure("write") }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  func sha256() -> String { digest.finish() }

  func remove() {
    close(descriptor)
    unlink(path)
  }
}
