import HTTPServer
import SyncModel
import TestSupport

/// Pushes of a program with defects. The server has to refuse each of them, and stores nothing.
struct BadRequests {
  /// An operation that a device has sent. Each bad one differs from it in one place.
  let operation: PushOperation
  let token: String
  var random: Seeded

  private enum Place: CaseIterable {
    case operationId, idempotencyKey, kind, entityType, entityUuid, fields, baseVersion, updatedAt, noObject
    case noArray, noDevice, noJSON, cut, tooMany
  }

  /// A request, and the place of its defect.
  mutating func next() throws -> (request: Request, place: String) {
    let place = random.pick(Place.allCases)
    guard case .object(var members) = operation.wire else { throw SimulatorDefect("an operation is no object") }
    // Keys and record are new, so that no stored response fits.
    for name in ["operationId", "idempotencyKey"] { members[name] = .text("bad-\(random.next())") }
    members["entityUuid"] = .text(Person.uuid(&random))
    var operations: SyncValue?
    var deviceId: SyncValue = .text("00000000-0000-7000-8000-0000000000bd")
    switch place {
    case .operationId: members["operationId"] = random.pick([.null, .integer(5), .text(""), long(201)])
    case .idempotencyKey: members["idempotencyKey"] = random.pick([.array([]), .text(""), long(201)])
    case .kind: members["operationType"] = random.pick([.null, .text("upsert"), .integer(1)])
    case .entityType: members["entityType"] = random.pick([.null, .text("Nothing of this kind"), .bool(true)])
    case .entityUuid:
      members["entityUuid"] = random.pick([.null, .text("x"), .text(Person.uuid(&random).uppercased())])
    // Null leaves out a member that is optional, and a record may have no field that is required.
    case .fields: members["fields"] = random.pick([.bool(true), .array([]), .text("{}"), .integer(0)])
    case .baseVersion: members["baseVersion"] = random.pick([.integer(-1), .integer(.max), .text("1"), .bool(false)])
    case .updatedAt:
      members["updatedAt"] = random.pick([.null, .text("yesterday"), .integer(0), .text("2026-13-01T00:00:00Z")])
    case .noObject: operations = .array([random.pick([.null, .integer(1), .text("operation"), .array([])])])
    case .noArray: operations = random.pick([.null, .object([:]), .text("[]")])
    case .noDevice: deviceId = random.pick([.null, .integer(1), .text(""), long(201)])
    case .tooMany: operations = .array(Array(repeating: .object(members), count: PushRequest.greatestCount + 1))
    case .noJSON, .cut: break
    }
    let message = SyncValue.object([
      "deviceId": deviceId, "deviceCounter": .integer(1), "cursor": .null,
      "operations": operations ?? .array([.object(members)]),
    ])
    var body = Array(message.json.utf8)
    if place == .noJSON { body = Array(random.pick(["", "{]", "\u{feff}[", "nul"]).utf8) }
    if place == .cut { body.removeLast(random.number(1..<body.count)) }
    let headers = [
      "authorization": "Bearer \(token)", WireProtocol.header.lowercased(): "\(WireProtocol.version)",
      "content-type": "application/json",
    ]
    return (Request(method: "POST", path: "/v1/push", query: [:], headers: headers, body: body), "\(place)")
  }

  private func long(_ count: Int) -> SyncValue { .text(String(repeating: "x", count: count)) }

  /// - Throws: ``Violation`` if the server does not refuse a bad request.
  static func check(_ response: Response, to request: Request, _ place: String) throws {
    if (400..<500).contains(response.status) { return }
    // The machine of the server may fail at the same time.
    if [500, 503, 507].contains(response.status) { return }
    let text = String(decoding: response.body, as: UTF8.self)
    if response.status == 200, let message = try? PushResponse(wire: try SyncValue(parsing: text)),
      message.results.allSatisfy({ if case .rejected = $0.outcome { true } else { false } })
    {
      return
    }
    throw Violation(
      1,
      [
        "the server does not refuse a request with a bad \(place): \(response.status) \(text.prefix(400))",
        String(decoding: request.body.prefix(400), as: UTF8.self),
      ])
  }
}

extension SimulatedWorld {
  /// Lets a program with defects send a few requests.
  func sendBadRequests() throws {
    guard let token = devices.first(where: { !network.revoked.contains($0.token) })?.token,
      let key = network.operations.filter({ $0.value.kind == .create }).keys.max(),
      let operation = network.operations[key]
    else { return }
    var bad = BadRequests(operation: operation, token: token, random: Seeded(random.next()))
    for _ in 0..<6 {
      let (request, place) = try bad.next()
      let response = OneThread(value: Box<Response?>(nil))
      let server = server
      try perform { response.value.value = await server.respond(to: request) }
      trace.tally("bad request: \(place)")
      if let response = response.value.value { try BadRequests.check(response, to: request, place) }
    }
  }
}

/// A value that a task returns.
private final class Box<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
}
