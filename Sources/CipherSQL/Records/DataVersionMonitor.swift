import Dispatch
import Platform

/// Checks at intervals whether another process has committed, as long as the database has observers.
final class DataVersionMonitor: Sendable {
  private struct State: Sendable {
    var observers = 0
    var timer: Timer?
  }

  /// `@unchecked Sendable` holds because a dispatch source may be used on any thread. Its protocol does not declare
  /// that.
  private struct Timer: @unchecked Sendable {
    let source: any DispatchSourceTimer
  }

  private let state = Locked(State())
  private let queue = DispatchQueue(label: "fieldvault.other-processes", qos: .utility)

  deinit { state.withLock { $0.timer?.source.cancel() } }

  /// Counts an observer. The first one starts the timer.
  func begin(every interval: Duration?, _ ask: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.observers += 1
      guard state.timer == nil, let interval else { return }
      let timer = DispatchSource.makeTimerSource(queue: queue)
      let milliseconds = Int(clamping: max(interval.milliseconds, 1))
      timer.schedule(
        deadline: .now() + .milliseconds(milliseconds), repeating: .milliseconds(milliseconds),
        leeway: .milliseconds(milliseconds / 10))
      timer.setEventHandler(handler: ask)
      timer.resume()
      state.timer = Timer(source: timer)
    }
  }

  /// Removes an observer. The timer ends with the last one.
  func end() {
    state.withLock { state in
      state.observers -= 1
      guard state.observers == 0 else { return }
      state.timer?.source.cancel()
      state.timer = nil
    }
  }
}

extension Database {
  /// Registers an observer and starts checking for commits of other processes.
  func addObserver(_ observer: @escaping @Sendable (ChangedRegion?, Set<String>) -> Void) -> UInt64 {
    let id = hub.add(observer)
    otherProcesses.begin(every: path == nil ? nil : configuration.otherProcessInterval) { [weak self] in
      self?.publishCommitsOfOtherProcesses()
    }
    return id
  }

  func removeObserver(_ id: UInt64) {
    hub.remove(id)
    otherProcesses.end()
  }

  /// Notifies observers that any table may have changed if another process has committed. Does nothing while this
  /// process writes; the next call then finds the commit.
  func publishCommitsOfOtherProcesses() {
    writer.withIdleConnection { connection in
      do {
        let version = try connection.pragmaText("PRAGMA data_version")
        guard version != connection.knownDataVersion else { return }
        connection.knownDataVersion = version
        hub.publish(ChangedRegion(isEverything: true), after: connection)
      } catch {
        // If the file cannot be read now, the next interval tries again, and the next query reports the reason.
      }
    }
  }
}
