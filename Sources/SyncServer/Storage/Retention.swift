import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Forgets what nobody needs any more, so that an account does not grow for ever: answers and deletions after a time, the
/// files of records that are forgotten, uploads that were given up.
struct Retention: Sendable {
  let days: Int
  let storage: any RecordStorage
  let files: any FileStorage
  var objects: ObjectFiles?
  /// Which of these contents records of an account refer to.
  let inUse: @Sendable (AccountName, [String]) async throws -> Set<String>
  let directory: ServerDirectory
  let log: RequestLog

  /// Works through all accounts at once and then every six hours, and gives up uploads every quarter of an hour, until the
  /// task is cancelled.
  func run(_ clock: ServerClock) async {
    var round = 0
    while !Task.isCancelled {
      let now = Date.nowInMilliseconds().milliseconds
      if clock.needsBeginning { await begin(clock, at: now) }
      do {
        let time = try clock.advance(wall: now)
        if round % 24 == 0 { await forget(before: time.limit(days: days), at: time.now) }
      } catch {
        log.failure("nothing is forgotten, because the time of retention cannot be stored: \(error)")
      }
      await expireUploads(at: now)
      round += 1
      do {
        try await Task.sleep(for: .seconds(900))
      } catch {
        return
      }
    }
  }

  /// Data of version 0.1 have no time of retention: it begins at their last change.
  private func begin(_ clock: ServerClock, at now: Int64) async {
    let largest = Locked<Int64?>(nil)
    await forEachAccount("the time of the last change could not be read") { account in
      guard let time = try await storage.read(account, { try $0.largestStoredTime }) else { return }
      largest.withLock { $0 = max($0 ?? time, time) }
    }
    clock.begin(largestStored: largest.withLock { $0 }, wall: now)
  }

  /// Forgets answers and deletions from before a time, and sweeps the files that no record refers to: those that a record once
  /// referred to, and others from before that time.
  /// - Parameter now: the time of the sweep of files.
  func forget(before time: Int64, at now: Int64) async {
    await forEachAccount("old answers, deletions and files could not be forgotten") { account in
      try await storage.forget(account, before: time)
      let rule = SweepRule(at: now, neverUsedBefore: time) { contents in try await inUse(account, contents) }
      try await files.sweep(account, rule)
      try await objects?.sweep(account, rule)
    }
  }

  func expireUploads(at time: Int64) async {
    await forEachAccount("uploads could not be given up") { account in
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
        // An account that is damaged would otherwise keep all behind it from ever being looked after. Its folder has a
        // name drawn by chance, which tells nothing of whose it is.
        log.failure("\(failure) in accounts/\(account.folder): \(error)")
      }
    }
  }
}
