import CipherSQL
import FileServer
import HTTPServer
import SQLCipherStorage
import ServerStorage

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Removes old data, so that an account does not grow without limit: responses and deletions after a time, the files
/// of forgotten records, and abandoned uploads.
struct Retention: Sendable {
  let days: Int
  let storage: any RecordStorage
  let files: any FileStorage
  var objects: ObjectFiles?
  /// Returns the contents among some that records of an account reference.
  let inUse: @Sendable (AccountName, [String]) async throws -> Set<String>
  let directory: ServerDirectory
  let log: RequestLog

  /// Processes all accounts at once and then every six hours, and cancels abandoned uploads every quarter of an hour,
  /// until the task is cancelled.
  func run(_ clock: ServerClock) async {
    var round = 0
    while !Task.isCancelled {
      let now = directory.environment.now
      if clock.needsBeginning { await begin(clock, at: now) }
      do {
        let time = try clock.advance(wall: now)
        if round % 24 == 0 { await forget(before: time.limit(days: days), at: time.now) }
      } catch {
        log.failure("retention is skipped because its time cannot be stored: \(error)")
      }
      await expireUploads(at: now)
      round += 1
      do {
        try await directory.environment.clock.sleep(.seconds(900))
      } catch {
        return
      }
    }
  }

  /// Starts the time of retention. For data of version 0.1, which lack it, the time starts at their last change.
  private func begin(_ clock: ServerClock, at now: Int64) async {
    let largest = Locked<Int64?>(nil)
    await forEachAccount("cannot read the time of the last change") { account in
      guard let time = try await storage.read(account, { try $0.largestStoredTime }) else { return }
      largest.withLock { $0 = max($0 ?? time, time) }
    }
    clock.begin(largestStored: largest.withLock { $0 }, wall: now)
  }

  /// Forgets responses and deletions from before a time, and sweeps files that no record references: files that a
  /// record once referenced, and other files from before that time.
  /// - Parameter now: the time of the sweep of files.
  func forget(before time: Int64, at now: Int64) async {
    await forEachAccount("old responses, deletions and files could not be forgotten") { account in
      try await storage.forget(account, before: time)
      let rule = SweepRule(at: now, neverUsedBefore: time) { contents in try await inUse(account, contents) }
      try await files.sweep(account, rule)
      try await objects?.sweep(account, rule)
    }
  }

  func expireUploads(at time: Int64) async {
    await forEachAccount("cannot discard expired uploads") { account in
      try await files.expire(account, at: time)
      try await objects?.expire(account, at: time)
    }
  }

  private func forEachAccount(_ failure: String, _ body: (AccountName) async throws -> Void) async {
    var accounts: [AccountName] = []
    do { accounts = try directory.accounts() } catch { log.failure("\(failure): \(error)") }
    for account in accounts {
      do {
        try await body(account)
      } catch is CancellationError {
        return
      } catch {
        // A damaged account must not stop the processing of the others. Its folder has a random name, which
        // identifies no user.
        log.failure("\(failure) in accounts/\(account.folder): \(error)")
      }
    }
  }
}
