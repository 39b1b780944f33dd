import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Forgets answers and deletions after a time, so that an account does not grow for ever.
struct Retention: Sendable {
  let days: Int
  let storage: any RecordStorage
  let directory: ServerDirectory
  let log: RequestLog

  private static let day: Int64 = 86_400_000

  /// Works through all accounts at once and then every six hours, until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      await forget(before: Date.nowInMilliseconds().milliseconds - Int64(days) * Self.day)
      do {
        try await Task.sleep(for: .seconds(6 * 3600))
      } catch {
        return
      }
    }
  }

  func forget(before time: Int64) async {
    do {
      for account in try directory.accounts() {
        try await storage.write(account) { data in try data.forget(before: time) }
      }
    } catch is CancellationError {
      return
    } catch {
      log.failure("old answers and deletions could not be forgotten: \(error)")
    }
  }
}
