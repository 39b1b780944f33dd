import SyncModel
import WebTransport

/// Reads a list page by page.
struct RestPages: Sendable {
  let client: RestClient
  /// Below the base of the API.
  let path: String
  let items: JSONPlace
  let paging: Paging
  let id: JSONPlace
  /// Whether nothing in place of a list is an empty one.
  var takesNothingForEmpty = false

  /// A list that was read to its end.
  struct List: Sendable {
    var items: [SyncValue] = []
    var ids: Set<ServerId> = []
    /// Whether no record came twice, as it does when a list changes while it is read.
    var isSteady = true
    /// Whether an object stood in place of a list.
    var isOnly = false
  }

  /// Why there is no list.
  enum Problem: Error {
    /// The round ends with it.
    case failure(RemoteFailure)
    /// It concerns this list alone.
    case list(String)
    /// There is nothing under its path.
    case gone
  }

  /// More pages than any list has.
  private static let mostPages = 10_000

  func all() async throws(Problem) -> List {
    var list = List()
    var seen: Set<String> = []
    var position = first
    for _ in 0..<Self.mostPages {
      let document = try await page(position)
      let place = items.value(in: document)
      if case .object? = place {
        let id = RestItem.id(of: place ?? .null, at: id, isOnly: true)
        return List(items: [place ?? .null], ids: id.map { [$0] } ?? [], isOnly: true)
      }
      if takesNothingForEmpty, place == nil || place == .null { return list }
      guard case .array(let elements)? = place else { throw .list("its answer has no list at '\(items)'") }
      let before = list.items.count
      for element in elements {
        guard let id = id.value(in: element).flatMap(ServerId.init) else {
          throw .list("a record of it has no id at '\(id)'")
        }
        if list.ids.insert(id).inserted { list.items.append(element) } else { list.isSteady = false }
      }
      // A page may be shorter than was asked for; only one that brings nothing new is behind the end.
      if list.items.count == before, position != first { return list }
      guard let next = next(after: position, document, count: elements.count) else { return list }
      guard seen.insert("\(next)").inserted else { throw .list("it never ends: a page names one that was read before") }
      position = next
    }
    throw .list("it never ends")
  }

  /// Which page.
  private enum Position: Equatable, Sendable { case number(Int64), offset(Int64), address(String), text(String), only }

  private var first: Position {
    switch paging {
    case .none, .next: .only
    case .number(_, let first, _, _): .number(first)
    case .offset: .offset(0)
    }
  }

  private func next(after position: Position, _ document: SyncValue, count: Int) -> Position? {
    switch (paging, position) {
    case (.number, .number(let number)): return count == 0 ? nil : .number(number + 1)
    case (.offset, .offset(let offset)):
      return count == 0 ? nil : .offset(offset + Int64(count))
    case (.next(let place, let parameter), _):
      guard let value = place.value(in: document) else { return nil }
      if parameter == nil, case .text(let address) = value, !address.isEmpty { return .address(address) }
      return ServerId(value).map { .text($0.description) }
    default: return nil
    }
  }

  private func page(_ position: Position) async throws(Problem) -> SyncValue {
    var query: [(name: String, value: String)] = []
    var path = path
    switch (paging, position) {
    case (.number(let parameter, _, let size, let count), .number(let number)):
      query = [(parameter, String(number))] + (size.map { [($0, String(count))] } ?? [])
    case (.offset(let parameter, let size, let count), .offset(let offset)):
      query = [(parameter, String(offset))] + (size.map { [($0, String(count))] } ?? [])
    case (.next(_, let parameter?), .text(let text)): query = [(parameter, text)]
    case (_, .address(let address)): path = address
    default: break
    }
    let answer: RestAnswer
    do throws(RemoteFailure) {
      answer = try await client.fetch(path, query)
    } catch {
      switch error.answer {
      // The server has answered a moment ago: what this list takes too long or too much for concerns this list.
      case .tooLarge, .refused: throw .list(error.message)
      default: throw .failure(error)
      }
    }
    switch answer {
    case .done(let document): return document ?? .null
    case .gone: throw .gone
    case .credentials: throw .failure(RestClient.failure(answer) ?? .offline)
    default: throw .list(RestClient.failure(answer)?.message ?? "the server does not give it")
    }
  }
}
