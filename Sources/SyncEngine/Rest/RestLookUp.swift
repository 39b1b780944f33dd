import OfflineStore
import SyncModel

/// Finds out whether a record was made at an API by an attempt whose answer was lost: a record there that has the same
/// fields and that no record here is.
struct RestLookUp: Sendable {
  let client: RestClient
  let records: RestRecords
  let body: RestBody
  let routes: EntityRoutes

  /// The id of the record at the API; nil when it is not there, or the API cannot be asked.
  func find() async throws -> ServerId? {
    guard case .lookUp(let call, let items, let match)? = routes.repeats else { return nil }
    let answer = try await client.ask(call.method, try await body.path(call.path))
    guard case .done(let document) = answer else {
      if case .gone = answer { return nil }
      throw RestClient.failure(answer)
        ?? RemoteFailure(
          .attempt, message: "the server does not say whether it has the record already",
          hint: "look at 'lookUp' in the route file")
    }
    guard let document, case .array(let there)? = items.value(in: document) else {
      throw RemoteFailure(
        .attempt, message: "the answer to a look-up has no list at '\(items)'",
        hint: "look at 'items' in the route file")
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
      guard let id = routes.id.value(in: item).flatMap(ServerId.init), known[id] == nil else { continue }
      let isSame = wanted.allSatisfy { place, column, value in
        RestValue.isSame(place.value(in: item) ?? .null, value, column)
      }
      if isSame { return id }
    }
    return nil
  }
}
