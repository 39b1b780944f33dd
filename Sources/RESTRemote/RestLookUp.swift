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

  /// Returns the id of the record at the API; `nil` if the record is missing or the API cannot be reached.
  func find() async throws -> ServerId? {
    guard case .lookUp(let call, let items, let match)? = routes.repeats else { return nil }
    var paging = Paging.none
    if case .call(call, _, let own, _)? = routes.list { paging = own }
    var pages = RestPages(
      client: client, path: try await body.path(call.path), items: items, paging: paging, id: routes.id)
    pages.takesNothingForEmpty = true
    let there: [SyncValue]
    do throws(RestPages.Problem) {
      there = try await pages.all().items
    } catch {
      switch error {
      case .failure(let failure): throw failure
      // The parent is missing. Sending the record shows that too.
      case .gone: return nil
      case .list(let message):
        throw RemoteFailure(
          .attempt, message: "cannot determine whether the server already has the record: \(message)",
          hint: "check 'lookUp' in the route file")
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
    for item in there {
      guard let id = routes.id.value(in: item).flatMap({ RestRecords.id($0, of: body.table) }), known[id] == nil else {
        continue
      }
      let isSame = wanted.allSatisfy { place, column, value in
        RestValue.isSame(place.value(in: item) ?? .null, value, column)
      }
      if isSame { return id }
    }
    return nil
  }
}
