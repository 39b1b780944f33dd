import CipherSQL
import RawNetwork
import SyncModel
import TestSupport
import Testing

@testable import SyncEngine

/// Records that another program has moved at the API before it deleted their former parent.
@Suite(.serialized) struct MovedAtAPITests {
  private static let routes = #"""
    {"format": 1, "service": "x", "freshSeconds": 0, "entities": {
      "Station": {"fields": {"code": "code", "title": "title"}, "create": "POST /stations",
        "repeat": {"mayDuplicate": true}, "update": "PATCH /stations/{id}",
        "list": {"request": "GET /stations", "items": "items"}},
      "Site Visit": {"fields": {"code": "code", "stationId": "station", "previousId": "previous"},
        "create": "POST /visits", "repeat": {"mayDuplicate": true}, "update": "PATCH /visits/{id}",
        "list": {"request": "GET /visits", "items": "items"}}
    }}
    """#

  /// The resources of the API: the codes of the stations, and the stations of the visits, by their ids.
  private struct Store {
    var stations = [1: "s", 2: "t"]
    var visits = [5: 1, 6: 2]
    /// The stations that the list leaves out.
    var unlisted: Set<Int> = []
    private var last = 20

    mutating func respond(_ method: String, _ path: String, _ body: SyncValue?) -> (status: String, body: String) {
      let words = path.split(separator: "/")
      let id = words.count > 1 ? Int(words[1]) : nil
      switch (method, words[0], id) {
      case ("GET", "stations", nil):
        let items = stations.filter { !unlisted.contains($0.key) }.map { #"{"id": \#($0), "code": "\#($1)"}"# }
        return ("200 OK", #"{"items": [\#(items.sorted().joined(separator: ", "))]}"#)
      case ("GET", "visits", nil):
        let items = visits.map { id, station in
          #"{"id": \#(id), "code": "v", "station": \#(station), "previous": \#(id == 6 ? "5" : "null")}"#
        }
        return ("200 OK", #"{"items": [\#(items.sorted().joined(separator: ", "))]}"#)
      case ("POST", "stations", nil):
        last += 1
        stations[last] = "s"
        return ("201 Created", #"{"id": \#(last)}"#)
      case ("POST", "visits", nil):
        guard case .object(let fields)? = body, case .integer(let station)? = fields["station"],
          stations[Int(station)] != nil
        else { return ("404 No", "{}") }
        last += 1
        visits[last] = Int(station)
        return ("201 Created", #"{"id": \#(last)}"#)
      case ("PATCH", "stations", let id?) where stations[id] != nil: return ("200 OK", "{}")
      case ("PATCH", "visits", let id?) where visits[id] != nil: return ("200 OK", "{}")
      default: return ("404 No", "{}")
      }
    }
  }

  private static func api(_ store: Locked<Store>) throws -> RawServer {
    try RawServer { request, connection in
      let words = request.line.split(separator: " ").map(String.init)
      let body = try? SyncValue(parsing: String(decoding: request.body, as: UTF8.self))
      let response = store.withLock { $0.respond(words[0], words[1], body) }
      return connection.send(responseText(response.body, status: response.status))
    }
  }

  private static let visits: SQL = """
    SELECT visit.serverId || ' at ' || station.serverId || coalesce(' after ' || previous.serverId, '')
      || CASE visit.syncStatus WHEN 'synced' THEN '' ELSE ' ' || visit.syncStatus END
    FROM OfflineSiteVisit AS visit JOIN OfflineStation AS station USING (stationId)
    LEFT JOIN OfflineSiteVisit AS previous ON previous.visitId = visit.previousId
    WHERE visit.isDeleted = 0 ORDER BY visit.serverId
    """

  /// Runs a test with a device whose user has restored a station that the API has deleted, and its visit. The device does not
  /// know yet that another program has moved the visit.
  /// - Parameters:
  ///   - station: the station to which the program has moved the visit.
  ///   - first: the resources of the API before the first sync.
  private static func withRestoredVisit(
    movedTo station: Int, _ first: Store = Store(), _ test: (StationDevice, Locked<Store>) async throws -> Void
  ) async throws {
    let store = Locked(first)
    let api = try api(store)
    defer { api.close() }
    let device = try StationDevice(at: api.url, routes: routes)
    _ = try await device.worker.sync()
    #expect(try await device.values(visits) == ["5 at 1", "6 at 2 after 5"])
    store.withLock { store in
      store.visits[5] = station
      store.stations[1] = nil
    }
    try await device.write("UPDATE OfflineStation SET title = 'mine' WHERE code = 's'")
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    #expect(try await device.values(visits) == ["6 at 2 after 5"])
    try await device.resolveAll(takesLocal: true)
    try await device.write("UPDATE OfflineSiteVisit SET isDeleted = 0 WHERE serverId = 5")
    try await test(device, store)
  }

  // Found by the simulation, seed 11118: the former resource never appeared, and references to it led to the new one.
  @Test("A record that was created again appears beside its former resource, to which references still lead")
  func formerResource() async throws {
    try await Self.withRestoredVisit(movedTo: 2) { device, store in
      _ = try await device.worker.sync(RoundRequest(pulls: false))
      #expect(store.withLock { $0.visits } == [5: 2, 6: 2, 22: 21])
      for _ in 1...2 { _ = try await device.worker.sync() }
      #expect(try await device.values(Self.visits) == ["5 at 2", "6 at 2 after 5", "22 at 21"])
    }
  }

  @Test("A restored record that a list shows below another parent is not created again")
  func listedRestoration() async throws {
    try await Self.withRestoredVisit(movedTo: 2) { device, store in
      for _ in 1...2 { _ = try await device.worker.sync() }
      #expect(store.withLock { $0.visits } == [5: 2, 6: 2])
      #expect(try await device.values(Self.visits) == ["5 at 2", "6 at 2 after 5"])
    }
  }

  @Test("A version that waits for its parent does not replace a record that was created again under another id")
  func waitingVersion() async throws {
    var first = Store()
    first.stations[3] = "u"
    first.unlisted = [3]
    try await Self.withRestoredVisit(movedTo: 3, first) { device, store in
      _ = try await device.worker.sync()
      #expect(store.withLock { $0.visits } == [5: 3, 6: 2, 22: 21])
      store.withLock { $0.unlisted = [] }
      for _ in 1...2 { _ = try await device.worker.sync() }
      #expect(try await device.values(Self.visits) == ["5 at 3", "6 at 2 after 5", "22 at 21"])
    }
  }
}
