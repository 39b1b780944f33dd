import VaultStore
import SyncModel
import HTTPClient

/// The lists of an API, fetched one after the other: each is a page of changes.
struct RestLists: Sendable {
  let client: RestClient
  let records: RestRecords

  /// The cursor of a device that has fetched all lists.
  static let end = "lists"

  /// The entities with a list of their own, those before others that they reference.
  private var order: [String] {
    records.catalog.parentsFirst.map(\.entity.type).filter { type in
      if case .call? = client.file.entities[type]?.list { return true }
      return false
    }
  }

  /// The next list after a cursor.
  func page(_ cursor: String?) async throws(RemoteFailure) -> ChangesPage {
    let order = order
    let fetched = try await records.query { try $0.fetchTimes() }
    // A device that has fetched all lists once fetches only old ones again.
    let isAgain = cursor == Self.end || cursor?.hasPrefix("old ") == true
    let now = client.environment.now
    func isDue(_ type: String) -> Bool {
      guard isAgain, let time = fetched[type] else { return true }
      return now - time > client.file.freshSeconds * 1000 || time > now
    }
    // The name of an entity may contain spaces.
    let last = cursor.flatMap { $0.split(separator: " ", maxSplits: 1).dropFirst().first }.map(String.init)
    let start = last.flatMap { order.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
    let due = order[min(start, order.count)...].filter(isDue)
    guard let type = due.first else {
      return ChangesPage(
        serverTime: client.serverTime, epoch: RestRemote.epoch, changes: [], cursor: Self.end, hasMore: false,
        remaining: 0)
    }
    let fetch = try await fetch(type)
    let isLast = due.count == 1
    var page = ChangesPage(
      serverTime: client.serverTime, epoch: RestRemote.epoch, changes: fetch.changes,
      cursor: isLast ? Self.end : "\(isAgain ? "old" : "all") \(type)",
      hasMore: !isLast, remaining: nil)
    page.fetched = fetch.lists
    page.gone = fetch.gone
    return page
  }

  private struct Fetch {
    var changes: [RemoteRecord] = []
    var gone: [RemoteDeletions] = []
    var lists: [FetchedList] = []

    init() {}

    /// A list that did not come.
    init(problem: String, of type: String) {
      lists = [FetchedList(entityType: type, isWhole: false, problem: problem)]
    }
  }

  /// A list with the lists within its records.
  private func fetch(_ type: String) async throws(RemoteFailure) -> Fetch {
    guard let routes = client.file.entities[type],
      case .call(let call, let items, let paging, let isComplete)? = routes.list
    else { return Fetch() }
    let pages = RestPages(client: client, path: call.path.description, items: items, paging: paging, id: routes.id)
    let first: RestPages.List
    do throws(RestPages.Problem) {
      first = try await pages.all()
    } catch {
      switch error {
      case .failure(let failure):
        guard try await isAbout(failure) else { throw failure }
        return Fetch(problem: failure.message, of: type)
      // One list that cannot be had is no reason to fetch no other, and to send nothing.
      case .list(let message): return Fetch(problem: message, of: type)
      case .gone: return Fetch(problem: "the server has no such list", of: type)
      }
    }
    var fetch = Fetch()
    var elements: [(type: String, items: [RestItem], isWhole: Bool, parents: (type: String, uuids: Set<String>)?)] = [
      (type, first.items.map { RestItem(value: $0, parent: nil, isOnly: first.isOnly) }, first.isSteady, nil)
    ]
    while !elements.isEmpty {
      let (kind, items, isSteady, parents) = elements.removeFirst()
      let comparison = RestComparison(client: client, records: records, type: kind)
      var result = try await comparison.compare(
        items, isWhole: isSteady && isComplete, within: parents)
      if kind == type, !result.absent.isEmpty, paging != .none {
        // A missing record may have moved between pages while the list was read.
        result.absent = try await stillAbsent(result.absent, pages)
      }
      fetch.changes += result.changes
      var known: [String: Set<ServerId>] = [:]
      for record in result.absent {
        if try await hasRestoredParent(record, of: kind, &known) { continue }
        fetch.gone.append(
          try await RestDeletionCheck(client: client, records: records).family(of: kind, record.uuid))
      }
      fetch.lists.append(FetchedList(entityType: kind, isWhole: isSteady && result.isWhole, problem: result.problem))
      for (child, place) in children(of: kind) {
        var inner: [RestItem] = []
        var parents: Set<String> = []
        for (uuid, item) in result.items {
          switch place.value(in: item) {
          case .array(let values)?: inner += values.map { RestItem(value: $0, parent: (kind, uuid)) }
          case .object(let object)?: inner.append(RestItem(value: .object(object), parent: (kind, uuid)))
          case .null?: break
          // Fields that a record of its list lacks are unknown.
          default: continue
          }
          parents.insert(uuid)
        }
        elements.append((child, inner, isSteady && result.isWhole, (kind, parents)))
      }
    }
    return fetch
  }

  /// Returns whether a record belongs to one that the API has deleted and the user has restored. Both are created again. As long
  /// as the user has not decided, the record is deleted with its parent.
  /// - Parameter known: the ids of the records of each entity that the API has, read once for all records of a list.
  private func hasRestoredParent(
    _ record: StoredRecord, of type: String, _ known: inout [String: Set<ServerId>]
  ) async throws(RemoteFailure) -> Bool {
    // References that may not be empty form no cycle.
    for column in records.table(type)?.columns ?? [] where column.column.isNotNull {
      guard let reference = column.reference, case .text(let uuid)? = record.state.fields[column.name],
        let parent = try await records.record(reference.entityType, uuid), !parent.state.isDeleted,
        parent.syncStatus != "conflict"
      else { continue }
      if known[reference.entityType] == nil {
        known[reference.entityType] = Set(try await records.known(reference.entityType).keys)
      }
      if let id = parent.serverId, known[reference.entityType]?.contains(id) == false { return true }
      if try await hasRestoredParent(parent, of: reference.entityType, &known) { return true }
    }
    return false
  }

  /// Whether a failure concerns only one list: the API responds to other requests.
  private func isAbout(_ failure: RemoteFailure) async throws(RemoteFailure) -> Bool {
    guard failure.responseClass == .unreachable else { return false }
    try await client.health()
    return true
  }

  private func stillAbsent(_ absent: [StoredRecord], _ pages: RestPages) async throws(RemoteFailure) -> [StoredRecord] {
    do throws(RestPages.Problem) {
      let again = try await pages.all()
      guard again.isSteady else { return [] }
      return absent.filter { record in
        guard let id = record.serverId else { return false }
        return !again.ids.contains { $0.description == id.description }
      }
    } catch {
      guard case .failure(let failure) = error else { return [] }
      throw failure
    }
  }

  private func children(of type: String) -> [(String, JSONPlace)] {
    client.file.entities.sorted { $0.key < $1.key }.compactMap { child, routes in
      guard case .within(type, let items)? = routes.list else { return nil }
      return (child, items)
    }
  }
}

/// A record of a list, and the record that contains it.
struct RestItem: Sendable {
  let value: SyncValue
  let parent: (type: String, uuid: String)?
  /// Whether the response contained an object instead of a list.
  var isOnly = false

  /// The API's id of a record. The only record of its entity needs no id.
  static func id(
    of value: SyncValue, at place: JSONPlace, isOnly: Bool, _ table: RecordTable? = nil
  ) -> ServerId? {
    guard let found = place.value(in: value) ?? (isOnly ? 1 : nil) else { return nil }
    guard let table else { return ServerId(found) }
    return RestRecords.id(found, of: table)
  }
}
