import HTTPServer
import Platform
import WebPages

/// Performs the reads of pages. A read that takes long goes on beside the pages, until its page has shown the result.
final class BackgroundReads: Sendable {
  /// The parameters of a page's address.
  typealias Address = [String: String]
  typealias Read = BackgroundWork<Progress, WebPage>

  /// The progress of a read.
  struct Progress: Sendable {
    /// The number of rows that scans of whole tables have visited.
    var visited = 0
    /// The number of rows that they visit at most; `nil` if it is unknown.
    var total: Int?
  }

  /// The result of a request for a page.
  enum Outcome {
    case ended(Result<WebPage, any Error>)
    /// The read goes on. `id` is for ``cancel(_:)``.
    case running(Read, id: Int)
    /// The read was ended for a newer one.
    case displaced
  }

  private struct State {
    var table = ReadTable<Address, Read>()
    /// The reads whose requests still wait for them.
    var young: [Read] = []
    /// The body of a file that is being made. A slow browser holds a connection to the database, so there is one at a time.
    var file: BodyPipe?
    var isExpiring = false
    var isClosed = false
  }

  private let clock: Clock
  private let patience: Duration
  private let state = Locked(State())

  /// - Parameter patience: the time that a request waits for its read.
  init(_ clock: Clock, patience: Duration) { (self.clock, self.patience) = (clock, patience) }

  /// The number of reads that are in the table, running or not.
  var count: Int { state.withLock { $0.table.reads.count } }

  /// Returns the result of a read, which begins unless it goes on already.
  func page(
    _ address: Address, _ read: @escaping @Sendable (Read) async throws -> WebPage
  ) async -> Outcome {
    let work: Read
    var id: Int?
    switch state.withLock({ $0.table.ask(address, at: clock.instant()) }) {
    case .displaced: return .displaced
    case .read(let known, let number): (work, id) = (known, number)
    case nil:
      work = Read(Progress(), clock, read)
      let isClosed = state.withLock { state in
        if !state.isClosed { state.young.append(work) }
        return state.isClosed
      }
      if isClosed { work.cancel() }
    }
    await work.wait(atMost: patience)
    let (outcome, ended) = state.withLock { state -> (Outcome, [Read]) in
      state.young.removeAll { $0 === work }
      if let result = work.result {
        _ = id.flatMap { state.table.remove($0) }
        return (.ended(result), [])
      }
      if let id { return (.running(work, id: id), []) }
      if state.isClosed { return (.ended(.failure(CancellationError())), [work]) }
      // Another request for the same page was faster.
      if case .read(let other, let id) = state.table.ask(address, at: clock.instant()) {
        return (.running(other, id: id), [work])
      }
      let added = state.table.add(work, for: address, at: clock.instant()) { $0.result == nil }
      return (.running(work, id: added.id), added.ended)
    }
    for read in ended { read.cancel() }
    expireLater()
    return outcome
  }

  /// Ends a read.
  /// - Returns: the address of its page; `nil` if there is no such read any more.
  func cancel(_ id: Int) -> Address? {
    let removed = state.withLock { $0.table.remove(id) }
    removed?.read?.cancel()
    return removed?.key
  }

  /// Makes a file while it is sent.
  /// - Returns: `nil` if another file is being made.
  func file(_ produce: @escaping @Sendable (BodyPipe) async throws -> Void) -> BodyPipe? {
    state.withLock { state in
      guard state.file == nil, !state.isClosed else { return nil }
      let pipe = BodyPipe(
        atEnd: { [weak self] in self?.state.withLock { $0.file = nil } }, produce: produce)
      state.file = pipe
      return pipe
    }
  }

  /// Ends all reads, for good.
  func close() {
    let (reads, file) = state.withLock { state in
      state.isClosed = true
      defer { state.young = [] }
      return (state.table.clear() + state.young, state.file)
    }
    for read in reads { read.cancel() }
    file?.cut()
  }

  /// Forgets reads whose pages are requested no more, as long as there are any.
  private func expireLater() {
    let isFirst = state.withLock { state in
      guard !state.isExpiring, !state.table.isEmpty else { return false }
      state.isExpiring = true
      return true
    }
    guard isFirst else { return }
    startTask { [weak self, clock] in
      while self?.expire() == true { await clock.sleepThroughCancellation(.seconds(5)) }
    }
  }

  /// - Returns: whether reads remain.
  private func expire() -> Bool {
    let (old, remain) = state.withLock { state in
      let old = state.table.expire(at: clock.instant())
      state.isExpiring = !state.table.isEmpty
      return (old, state.isExpiring)
    }
    for read in old { read.cancel() }
    return remain
  }
}
