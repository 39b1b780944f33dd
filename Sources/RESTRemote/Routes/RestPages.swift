import SyncModel
import HTTPClient

/// The limits for reading one list. A list beyond a limit is reported as incomplete. Other lists and sending
/// continue.
public struct ListLimits: Equatable, Sendable {
  /// The maximum number of pages of a list.
  public var pages = 10_000
  /// The maximum number of bytes of all pages, after decompression.
  public var bytes = 64 << 20
  /// The number of seconds after which no further page is requested.
  public var seconds = 300

  /// The usual limits: 10,000 pages, 64 MiB, 300 s.
  public init() {}
}

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
    /// Whether every record appeared once. A record appears twice if the list changes while it is read.
    var isSteady = true
    /// Whether the response contained an object instead of a list.
    var isOnly = false
  }

  /// The reason why a list could not be read.
  enum Problem: Error {
    /// The round ends with it.
    case failure(RemoteFailure)
    /// The problem concerns only this list.
    case list(String)
    /// The path of the list does not exist.
    case gone
  }

  func all() async throws(Problem) -> List {
    var list = List()
    var seen: Set<String> = []
    var position = first
    var bytes = 0
    let begin = client.environment.clock.instant()
    for _ in 0..<client.limits.pages {
      let (document, size) = try await page(position)
      bytes += size
      guard bytes <= client.limits.bytes else { throw .list("the list has more than \(client.limits.bytes) bytes") }
      let place = items.value(in: document)
      if case .object? = place {
        let id = RestItem.id(of: place ?? .null, at: id, isOnly: true)
        return List(items: [place ?? .null], ids: id.map { [$0] } ?? [], isOnly: true)
      }
      if takesNothingForEmpty, place == nil || place == .null { return list }
      guard case .array(let elements)? = place else { throw .list("its response has no list at '\(items)'") }
      let before = list.items.count
      for element in elements {
        guard let id = id.value(in: element).flatMap(ServerId.init) else {
          throw .list("a record has no id at '\(id)'")
        }
        if list.ids.insert(id).inserted { list.items.append(element) } else { list.isSteady = false }
      }
      // A page may be shorter than was asked for; only one that brings nothing new is behind the end.
      if list.items.count == before, position != first { return list }
      guard let next = try next(after: position, document, count: elements.count) else { return list }
      guard seen.insert("\(next)").inserted else {
        throw .list("the list never ends: a page links to a page that was read before")
      }
      guard client.environment.clock.instant() - begin < .seconds(client.limits.seconds) else {
        throw .list("reading the list took more than \(client.limits.seconds) s")
      }
      position = next
    }
    throw .list("the list has more than \(client.limits.pages) pages")
  }

  /// Which page.
  private enum Position: Equatable, Sendable {
    case number(Int64), offset(Int64), text(String), only
    /// A URL of the same origin.
    case address(String)
  }

  private var first: Position {
    switch paging {
    case .none, .next: .only
    case .number(_, let first, _, _): .number(first)
    case .offset: .offset(0)
    }
  }

  private func next(
    after position: Position, _ document: SyncValue, count: Int
  ) throws(Problem) -> Position? {
    switch (paging, position) {
    case (.number, .number(let number)): return count == 0 ? nil : .number(number + 1)
    case (.offset, .offset(let offset)):
      return count == 0 ? nil : .offset(offset + Int64(count))
    case (.next(let place, let parameter), _):
      let value = place.value(in: document) ?? .null
      if [.null, .text(""), .bool(false)].contains(value) { return nil }
      switch (parameter, value) {
      case (nil, .text(let reference)): return .address(try url(of: reference, after: position))
      case (_?, .text), (_?, .integer):
        guard let id = ServerId(value) else { fallthrough }
        return .text(id.description)
      default: throw .list("'\(place)' of a page is not a valid link to the next page")
      }
    default: return nil
    }
  }

  /// Resolves the reference to the next page.
  private func url(of reference: String, after position: Position) throws(Problem) -> String {
    var page = client.file.base + path
    if case .address(let url) = position { page = url }
    let address = client.transport.address
    let url: String
    do throws(TransportFailure) {
      url = try address.resolved(reference, from: page)
    } catch {
      throw .list("a page links to an invalid address")
    }
    guard address.isOrigin(of: url) else { throw .list("a page links to another server") }
    return url
  }

  private func page(_ position: Position) async throws(Problem) -> (SyncValue, bytes: Int) {
    var query: [(name: String, value: String)] = []
    var path = client.file.base + path
    switch (paging, position) {
    case (.number(let parameter, _, let size, let count), .number(let number)):
      query = [(parameter, String(number))] + (size.map { [($0, String(count))] } ?? [])
    case (.offset(let parameter, let size, let count), .offset(let offset)):
      query = [(parameter, String(offset))] + (size.map { [($0, String(count))] } ?? [])
    case (.next(_, let parameter?), .text(let text)): query = [(parameter, text)]
    case (_, .address(let address)): path = address
    default: break
    }
    let (response, bytes): (RestResponse, Int)
    do throws(RemoteFailure) {
      (response, bytes) = try await client.fetch(HTTPRequest(path, query: query))
    } catch {
      switch error.responseClass {
      // The server responded a moment ago, so a timeout or an oversized response concerns this list only.
      case .tooLarge, .refused: throw .list(error.message)
      default: throw .failure(error)
      }
    }
    switch response {
    case .done(let document): return (document ?? .null, bytes)
    case .gone: throw .gone
    case .credentials: throw .failure(RestClient.failure(response) ?? .offline)
    default: throw .list(RestClient.failure(response)?.message ?? "the server refused the request")
    }
  }
}
