import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import ServerStorage

/// The guarantees of `FileStorage`, checked over any engine. An engine's own test creates an empty storage for each
/// check and calls ``all``.
struct FileConformance: Sendable {
  let make: @Sendable () async throws -> any FileStorage
  let one = AccountName(name: "one", folder: "00000000000000000000000000000001")
  let two = AccountName(name: "two", folder: "00000000000000000000000000000002")

  /// The names of the checks.
  static let names = FileConformance { throw Unexpected("only the names are used") }.all.map(\.name)

  /// The checks by name.
  var all: [(name: String, check: @Sendable () async throws -> Void)] {
    [
      ("an upload becomes a content with its last byte", becomesAContent),
      ("what was not committed is gone, what was is there", commits),
      ("an upload has one writer", oneWriter),
      ("accounts do not see each other", accountsAreApart),
      ("usage is what is there", usage),
      ("a quota holds, also for lengths that are said later", quota),
      ("what is going to come counts before it is committed", reservations),
      ("the first of two uploads of a content wins", firstWins),
      ("uploads expire, but not while they are written", expiry),
      ("what is finished stays, whoever removes its upload just then", removalWhileFinishing),
      ("what gets more time stays, even when it was about to expire", expiryWhileCommitting),
      ("contents go when nothing needs them any more", sweep),
      ("what is open is read to its end", readToTheEnd),
    ]
  }

  private let large: Int64 = 1 << 40

  private func new(_ length: Int64?, _ content: String = newUuid(), user: Int64 = 1) -> NewUpload {
    NewUpload(
      userId: user, name: ContentName(content: content, variant: .full), length: length, metadata: "a QQ==",
      expiry: 1_000)
  }

  private func begin(
    _ storage: any FileStorage, _ length: Int64?, _ content: String = newUuid(), user: Int64 = 1
  ) async throws -> StoredUpload {
    try await storage.begin(one, new(length, content, user: user), quota: large, at: 10)
  }

  private func append(_ count: Int, to writer: any UploadWriting, isCommitted: Bool = true) throws {
    let start = Int(writer.upload.offset)
    try Array(bytes(start + count)[start...]).withUnsafeBytes { try writer.append($0) }
    if isCommitted { try writer.commit(at: 20, expiry: 2_000, quota: large) }
  }

  /// Sends a whole content.
  private func store(
    _ count: Int, in storage: any FileStorage, as content: String = newUuid(), at time: Int64 = 20
  ) async throws -> ContentName {
    let upload = try await begin(storage, Int64(count), content)
    let writer = try await storage.openWriter(one, upload.id)
    defer { writer.close() }
    try append(count, to: writer, isCommitted: false)
    try writer.commit(at: time, expiry: 2_000, quota: large)
    return upload.name
  }

  private func content(_ storage: any FileStorage, _ name: ContentName) async throws -> [UInt8]? {
    guard let (content, file) = try await storage.open(one, name) else { return nil }
    let handle = FileHandle(fileDescriptor: try #require(file.duplicate()), closeOnDealloc: true)
    let all = Array(try handle.readToEnd() ?? Data())
    #expect(all.count == Int(content.byteCount))
    return all
  }

  private func becomesAContent() async throws {
    let storage = try await make()
    defer { storage.close() }
    let upload = try await begin(storage, 100_000)
    #expect(upload.offset == 0 && !upload.isFinished && upload.metadata == "a QQ==" && upload.id.count == 32)
    #expect(try await storage.upload(one, upload.id) == upload)
    let writer = try await storage.openWriter(one, upload.id)
    try append(60_000, to: writer)
    #expect(try await storage.content(one, upload.name) == nil)
    try append(40_000, to: writer)
    writer.close()
    let finished = try await storage.upload(one, upload.id)
    #expect(finished?.isFinished == true && finished?.offset == 100_000 && finished?.expiry == 2_000)
    #expect(try await content(storage, upload.name) == bytes(100_000))
    #expect(try await storage.content(one, ContentName(content: upload.name.content, variant: .thumbnail)) == nil)
    try await storage.removeUpload(one, upload.id)
    #expect(try await storage.upload(one, upload.id) == nil)
    #expect(try await content(storage, upload.name) == bytes(100_000), "a content stays without its upload")
    try await storage.removeContent(one, upload.name)
    #expect(try await storage.content(one, upload.name) == nil)
    // Nothing at all is a content too.
    let empty = try await store(0, in: storage)
    #expect(try await content(storage, empty) == [])
  }

  private func commits() async throws {
    let storage = try await make()
    defer { storage.close() }
    let upload = try await begin(storage, 50_000)
    let first = try await storage.openWriter(one, upload.id)
    try append(10_000, to: first)
    try append(5_000, to: first, isCommitted: false)
    #expect(first.upload.offset == 10_000)
    #expect(try await storage.upload(one, upload.id)?.offset == 10_000)
    first.close()
    let second = try await storage.openWriter(one, upload.id)
    #expect(second.upload.offset == 10_000)
    try append(40_000, to: second)
    second.close()
    #expect(try await content(storage, upload.name) == bytes(50_000))
    await #expect(throws: FileRefusal.gone) { _ = try await storage.openWriter(one, "no such upload") }
    // Removed while no request reads it.
    let other = try await begin(storage, 10)
    try await storage.removeUpload(one, other.id)
    await #expect(throws: FileRefusal.gone) { _ = try await storage.openWriter(one, other.id) }
  }

  private func oneWriter() async throws {
    let storage = try await make()
    defer { storage.close() }
    let upload = try await begin(storage, 100)
    let writer = try await storage.openWriter(one, upload.id)
    await #expect(throws: FileRefusal.busy) { _ = try await storage.openWriter(one, upload.id) }
    await #expect(throws: FileRefusal.busy) { try await storage.removeUpload(one, upload.id) }
    writer.close()
    let next = try await storage.openWriter(one, upload.id)
    next.close()
    try await storage.removeUpload(one, upload.id)
  }

  private func accountsAreApart() async throws {
    let storage = try await make()
    defer { storage.close() }
    let upload = try await begin(storage, 100)
    let name = try await store(50, in: storage)
    #expect(try await storage.upload(two, upload.id) == nil)
    #expect(try await storage.content(two, name) == nil)
    #expect(try await storage.open(two, name) == nil)
    #expect(try await storage.usedBytes(two, by: 1) == 0)
    try await storage.removeUpload(two, upload.id)
    try await storage.removeContent(two, name)
    #expect(try await storage.upload(one, upload.id) != nil)
    #expect(try await content(storage, name) == bytes(50))
  }

  private func usage() async throws {
    let storage = try await make()
    defer { storage.close() }
    func used() async throws -> Int64 { try await storage.usedBytes(one, by: 1) }
    let empty = try await storage.usedBytes(one, by: 1)
    #expect(empty == 0)
    let upload = try await begin(storage, 10_000)
    let begun = try await used()
    #expect(begun >= 10_000, "an upload counts with its length")
    let writer = try await storage.openWriter(one, upload.id)
    try append(4_000, to: writer)
    #expect(try await used() == begun)
    try append(6_000, to: writer)
    writer.close()
    #expect(try await used() == begun, "a content counts as much, and once")
    try await storage.removeUpload(one, upload.id)
    #expect(try await used() == begun)
    let other = try await begin(storage, nil, user: 2)
    #expect(try await used() == begun)
    try await storage.removeUpload(one, other.id)
    try await storage.removeContent(one, upload.name)
    #expect(try await used() == 0)
    #expect(try await storage.usedBytes(one, by: 2) == 0)
  }

  private func quota() async throws {
    let storage = try await make()
    defer { storage.close() }
    await #expect(throws: FileRefusal.overQuota) {
      _ = try await storage.begin(one, new(100_000), quota: 100_000, at: 10)
    }
    #expect(try await storage.usedBytes(one, by: 1) == 0)
    let upload = try await begin(storage, nil)
    let writer = try await storage.openWriter(one, upload.id)
    try append(50_000, to: writer)
    try append(60_000, to: writer, isCommitted: false)
    #expect(throws: FileRefusal.overQuota) { try writer.commit(at: 20, expiry: 2_000, quota: 100_000) }
    #expect(writer.upload.offset == 50_000)
    writer.close()
    #expect(try await storage.upload(one, upload.id)?.offset == 50_000)
    await #expect(throws: FileRefusal.overQuota) {
      _ = try await storage.setLength(one, upload.id, to: 100_000, quota: 100_000)
    }
    let longer = try await storage.setLength(one, upload.id, to: 90_000, quota: 100_000)
    #expect(longer.length == 90_000 && longer.offset == 50_000)
    await #expect(throws: FileRefusal.gone) {
      _ = try await storage.setLength(one, "no such upload", to: 1, quota: 100_000)
    }
  }

  private func reservations() async throws {
    let storage = try await make()
    defer { storage.close() }
    func used() async throws -> Int64 { try await storage.usedBytes(one, by: 1) }
    let (upload, other) = (try await begin(storage, nil), try await begin(storage, nil))
    let begun = try await used()
    let writer = try await storage.openWriter(one, upload.id, reserving: 60_000, quota: 100_000)
    #expect(try await used() == begun + 60_000)
    await #expect(throws: FileRefusal.overQuota) {
      _ = try await storage.openWriter(one, other.id, reserving: 60_000, quota: 100_000)
    }
    let second = try await storage.openWriter(one, other.id)
    try second.reserve(20_000, quota: 100_000)
    #expect(throws: FileRefusal.overQuota) { try second.reserve(60_000, quota: 100_000) }
    #expect(try await used() == begun + 80_000)
    #expect(try await storage.upload(one, other.id)?.offset == 0, "the offset does not move")
    second.close()
    #expect(try await used() == begun + 60_000)
    try append(50_000, to: writer)
    #expect(try await used() == begun + 60_000, "the rest of it is still to come")
    writer.close()
    #expect(try await used() == begun + 50_000)
    // A length that was said has been counted.
    let known = try await begin(storage, 10_000)
    let third = try await storage.openWriter(one, known.id, reserving: 10_000, quota: 0)
    try third.reserve(10_000, quota: 0)
    third.close()
    #expect(try await used() == begun + 50_000 + (begun / 2) + 10_000)
  }

  private func firstWins() async throws {
    let storage = try await make()
    defer { storage.close() }
    let uuid = newUuid()
    let late = try await begin(storage, 20, uuid)
    let name = try await store(10, in: storage, as: uuid)
    await #expect(throws: FileRefusal.exists) { _ = try await begin(storage, 5, uuid) }
    let writer = try await storage.openWriter(one, late.id)
    try append(20, to: writer, isCommitted: false)
    #expect(throws: FileRefusal.exists) { try writer.commit(at: 20, expiry: 2_000, quota: large) }
    writer.close()
    #expect(try await content(storage, name) == bytes(10))
  }

  private func expiry() async throws {
    let storage = try await make()
    defer { storage.close() }
    let still = try await begin(storage, 100)
    let moved = try await begin(storage, 100)
    let open = try await begin(storage, 100)
    let first = try await storage.openWriter(one, moved.id)
    try append(10, to: first)
    first.close()
    let writer = try await storage.openWriter(one, open.id)
    try await storage.expire(one, at: 999)
    #expect(try await storage.upload(one, still.id) != nil)
    try await storage.expire(one, at: 1_500)
    #expect(try await storage.upload(one, still.id) == nil)
    #expect(try await storage.upload(one, moved.id) != nil, "bytes give it more time")
    #expect(try await storage.upload(one, open.id) != nil, "somebody writes to it")
    writer.close()
    try await storage.expire(one, at: 2_000)
    #expect(try await storage.upload(one, moved.id) == nil)
    #expect(try await storage.upload(one, open.id) == nil)
    #expect(try await storage.usedBytes(one, by: 1) == 0)
  }

  private func removalWhileFinishing() async throws {
    let storage = try await make()
    defer { storage.close() }
    for round in 0..<100 {
      let upload = try await begin(storage, 4)
      try await whileRemoving(upload, in: storage, { try await storage.removeUpload(one, upload.id) }) { writer in
        try append(4, to: writer)
      }
      let isWhole = try await content(storage, upload.name) == bytes(4)
      try #require(isWhole, "content acknowledged by the server is lost; round \(round)")
    }
  }

  private func expiryWhileCommitting() async throws {
    let storage = try await make()
    defer { storage.close() }
    for round in 0..<100 {
      let upload = try await begin(storage, 4)
      try await whileRemoving(upload, in: storage, { try await storage.expire(one, at: 1_500) }) { writer in
        try append(3, to: writer)
      }
      let left = try await storage.upload(one, upload.id)
      try #require(left?.offset == 3 && left?.expiry == 2_000, "round \(round)")
      let writer = try await openFree(upload, in: storage)
      writer.close()
      try await storage.removeUpload(one, upload.id)
    }
  }

  /// Opens an upload that no writer uses. A process that another test is starting has a copy of each open file until its program
  /// begins, and with it the lock.
  private func openFree(_ upload: StoredUpload, in storage: any FileStorage) async throws -> any UploadWriting {
    for _ in 0..<400 {
      do { return try await storage.openWriter(one, upload.id) } catch FileRefusal.busy {
        try await Task.sleep(for: .milliseconds(5))
      }
    }
    return try await storage.openWriter(one, upload.id)
  }

  /// Writes to an upload while others try again and again to remove it.
  private func whileRemoving(
    _ upload: StoredUpload, in storage: any FileStorage, _ remove: @escaping @Sendable () async throws -> Void,
    _ write: (any UploadWriting) throws -> Void
  ) async throws {
    let writer = try await openFree(upload, in: storage)
    let isOver = Locked(false)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          while !isOver.withLock({ $0 }) {
            do { try await remove() } catch FileRefusal.busy { await Task.yield() }
          }
        }
      }
      defer { isOver.withLock { $0 = true } }
      // They are at it by then.
      try await Task.sleep(for: .milliseconds(1))
      try write(writer)
      writer.close()
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  private func sweep() async throws {
    let storage = try await make()
    defer { storage.close() }
    let kept = try await store(10, in: storage, at: 100)
    let dropped = try await store(20, in: storage, at: 100)
    let waiting = try await store(30, in: storage, at: 100)
    var now: Int64 = 1_000
    func sweep(_ time: Int64, using used: [ContentName]) async throws {
      let uuids = Set(used.map(\.content))
      // The mark, the second proof, and one more for an account that loses one file at a time.
      for _ in 0..<3 {
        try await storage.sweep(one, SweepRule(at: now, neverUsedBefore: time) { Set($0).intersection(uuids) })
        now += FileSweep.grace
      }
    }
    try await sweep(100, using: [kept, dropped])
    for name in [kept, dropped, waiting] { #expect(try await storage.content(one, name) != nil) }
    try await sweep(100, using: [kept])
    #expect(try await storage.content(one, dropped) == nil, "a record did refer to it")
    #expect(try await storage.content(one, waiting) != nil, "its record may still come")
    try await sweep(101, using: [kept])
    #expect(try await storage.content(one, waiting) == nil)
    #expect(try await content(storage, kept) == bytes(10))
  }

  private func readToTheEnd() async throws {
    let storage = try await make()
    defer { storage.close() }
    let name = try await store(100_000, in: storage)
    let (_, file) = try #require(try await storage.open(one, name))
    try await storage.removeContent(one, name)
    let handle = FileHandle(fileDescriptor: try #require(file.duplicate()), closeOnDealloc: true)
    #expect(Array(try handle.readToEnd() ?? Data()) == bytes(100_000))
  }
}
