import VaultStore
import SyncModel
import HTTPClient

/// Finds out whether an attempt whose response was lost has created a record: a record of the API that has the same
/// fields and is not a record of the vault.
struct RestLookUp: Sendable {
  let client: RestClient
  let records: RestRecords
  let body: RestBody
  let routes: EntityRoutes

  /// Returns the record as the API has it; `nil` if a complete list lacks the record, or without a look-up.
  func find() async throws -> (id: ServerId, value: SyncValue)? {
    guard case .lookUp(let call, let items, let match)? = routes.repeats else { return nil }
    var paging = Paging.none
    if case .call(call, _, let own, _)? = routes.list { paging = own }
    var pages = RestPages(
      client: client, path: try await body.path(call.path), items: items, paging: paging, id: routes.id)
    pages.takesNothingForEmpty = true
    let list: RestPages.List
    do throws(RestPages.Problem) {
      list = try await pages.all()
    } catch {
      switch error {
      case .failure(let failure): throw failure
      // The parent is missing. Sending the record shows that too.
      case .gone where !call.path.placeholders.isEmpty: return nil
      case .gone: throw Self.undetermined("the server has no such list")
      case .list(let message): throw Self.undetermined(message)
      }
    }
    let known = try await records.known(body.table.entity.type)
    let places = routes.sentFields(of: body.table)
    var wanted: [(place: JSONPlace, column: SharedColumn, value: SyncValue)] = []
    for name in match {
      guard let place = places[name], let column = body.table.columns.first(where: { $0.name == name }) else {
        continue
      }
      wanted.append((place, column, try await body.said(body.fields[name] ?? .null, name)))
    }
    var isComplete = list.isSteady
    for item in list.items {
      let value = routes.id.value(in: item)
      if value.flatMap(ServerId.init) == nil { isComplete = false }
      guard let id = value.flatMap({ RestRecords.id($0, of: body.table) }), known[id] == nil else { continue }
      let isSame = wanted.allSatisfy { place, column, value in
        RestValue.isSame(place.value(in: item) ?? .null, value, column)
      }
      if isSame { return (id, item) }
    }
    // The missing record may have moved between the pages, or be the one without an id.
    guard isComplete else { throw Self.undetermined("the list changed while it was read, or a record has no id") }
    return nil
  }

  private static func undetermined(_ reason: String) -> RemoteFailure {
    RemoteFailure(
      .attempt, message: "cannot determine whether the server already has the record: \(reason)",
      hint: "check 'lookUp' in the route file")
  }
}
