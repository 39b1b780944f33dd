import GeneratedSchemas
import HTTPServer
import SyncModel
import TestSupport

/// An existing JSON API that the devices of a world share instead of a FieldVault server. It misbehaves as the seed decides.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class SimulatedAPI: SimulatedPeer, @unchecked Sendable {
  let style: APIStyle
  let machine: Machine
  /// It is not restarted.
  let generation = 0
  let trace: Trace
  var store: APIStore
  var random: Seeded
  /// The pages that each device has read of each list.
  var readings: [String: ListReading] = [:]
  /// The codes of resources that may exist more than once or may be missing: a device could not know whether they exist.
  var doubtful: Set<String> = []
  /// The first violation that a request has shown. The API stops then.
  private(set) var violation: Violation?
  /// The stored responses by idempotency key.
  private var responses: [String: Response] = [:]
  /// The ids that each device has seen, by UUID.
  var identities: [String: [String: Set<Int64>]] = [:]
  /// The number of requests by device since its last round began, or since the last turn of the world.
  var requests: [String: Int] = [:]
  /// The times of the last requests of each device, for the limit of their rate.
  private var recent: [String: [Int64]] = [:]
  private let limitsRate: Bool
  private var users: Task<Void, Never>?
  /// The entity whose list does not advance for a while.
  private(set) var stuckList: String?

  init(_ machine: Machine, _ trace: Trace, _ random: Seeded) {
    (self.machine, self.trace, self.random) = (machine, trace, random)
    style = APIStyle(&self.random)
    limitsRate = self.random.chance(0.3)
    store = APIStore(references: style.references, refusesAmounts: style.refusesAmounts)
    for _ in 0..<self.random.number(2..<6) { actAsOther() }
  }

  /// Lets users of other programs change resources.
  func start() { users = machine.scheduler.start { await self.live() } }

  func stop() async {
    users?.cancel()
    await users?.value
    users = nil
    stuckList = nil
  }

  private func live() async {
    while !Task.isCancelled {
      do { try await machine.scheduler.sleep(Int64(random.number(1_000_000..<40_000_000))) } catch { return }
      actAsOther()
      stuckList = random.chance(0.15) ? random.pick(style.entities).name : nil
    }
  }

  // MARK: Requests

  /// More requests of one round show that it does not end.
  private static let mostRequests = 5_000
  /// The limit of requests in ten seconds.
  private static let mostRequestsAtOnce = 60

  func beginRound(of device: String) { requests[device] = 0 }

  func respond(to request: Request, _ delivery: Delivery) async -> Response? {
    guard violation == nil else { return nil }
    requests[delivery.device, default: 0] += 1
    if requests[delivery.device, default: 0] > Self.mostRequests {
      violation = Violation(5, "a round of \(delivery.device) does not end: \(request.method) \(request.path)")
    }
    if delivery.trouble > 0, limitsRate, isTooOften(delivery.device) {
      return .empty(429, [("Retry-After", "5")])
    }
    guard let call = APICall(request, style) else { return refusal(404, "no such path") }
    let mischief = delivery.trouble > 0 && random.chance(delivery.trouble / 2) ? Mischief.draw(call, &random) : nil
    if let mischief {
      trace.note("API", mischief.rawValue)
      if let response = refusal(mischief, call) { return response }
    }
    var response: Response
    do throws(APIStore.Refusal) {
      response = try self.response(to: request, call, mischief, delivery)
    } catch {
      response = refusal(error.status, error.message)
    }
    if let mischief { response = damaged(response, mischief) }
    if random.chance(0.8) { response.headers.append(("Date", HTTPDate.text(machine.wall))) }
    return response
  }

  private func response(
    to request: Request, _ call: APICall, _ mischief: Mischief?, _ delivery: Delivery
  ) throws(APIStore.Refusal) -> Response {
    let key = request.method == "GET" ? nil : request.headers["idempotency-key"]
    if let key, let response = responses[key] { return response }
    let response: Response
    switch call {
    case .health: response = .json([:])
    case .account: response = success(["id": 7, "name": "ada"])
    case .list(let entity, let parent):
      if let parent { try requireParent(entity, parent) }
      response = .json(list(entity, parent, request, mischief, delivery))
    case .find(let entity, let key):
      guard let resource = store.all(entity.kind.entity).first(where: { $0.key == key }) else {
        throw APIStore.Refusal(status: 404, message: "no such resource")
      }
      response = success(style.body(entity, resource, store))
    case .read(let entity, let id):
      guard let resource = store.resource(entity.kind.entity, id) else {
        throw APIStore.Refusal(status: 404, message: "no such resource")
      }
      response = success(style.body(entity, resource, store))
    case .create(let entity, let parent, let key):
      response = try create(entity, parent, key, try Self.body(of: request), delivery)
    case .update(let entity, let id):
      let fields = try style.fields(entity, of: try Self.body(of: request), isWhole: false)
      let resource = try store.update(entity.kind.entity, id, fields)
      response = success(style.body(entity, resource, store))
    case .delete(let entity, let id):
      try store.delete(entity.kind.entity, id)
      response = .empty(204)
    }
    if let key { responses[key] = response }
    return response
  }

  private func create(
    _ entity: APIStyle.EntityStyle, _ parent: Int64?, _ key: String?, _ body: SyncValue, _ delivery: Delivery
  ) throws(APIStore.Refusal) -> Response {
    let type = entity.kind.entity
    var fields = try style.fields(entity, of: body, isWhole: true)
    if let parent, let column = entity.parent?.columns[0] {
      try requireParent(entity, parent)
      fields[column] = .integer(parent)
    }
    if let key, let known = store.all(type).first(where: { $0.key == key }) {
      return success(style.body(entity, try store.update(type, known.id, fields), store))
    }
    // Each device may restore a record that was deleted, under an id of its own.
    let same = store.all(type).first { $0.code == fields.text("code") && $0.creator == delivery.device }
    let resource = try store.create(type, fields, key: key, creator: delivery.device)
    trace.tally("created: \(entity.repeats.rawValue)")
    // A request that arrives twice, or after its client has given up, creates a resource that no look-up could find before.
    if !delivery.isAwaited { doubtful.insert(resource.code) }
    if let same, entity.repeats != .mayDuplicate, !doubtful.contains(resource.code), violation == nil {
      violation = Violation(
        3,
        "\(delivery.device) creates a \(type) twice, with the ids \(same.id) and \(resource.id) and the code \(resource.code)"
      )
    }
    return success(style.body(entity, resource, store), status: 201)
  }

  private func requireParent(_ entity: APIStyle.EntityStyle, _ id: Int64) throws(APIStore.Refusal) {
    guard let parent = entity.parent, store.resource(parent.entity, id) != nil else {
      throw APIStore.Refusal(status: 404, message: "no such parent")
    }
  }

  private static func body(of request: Request) throws(APIStore.Refusal) -> SyncValue {
    do {
      return try SyncValue(parsing: request.body)
    } catch {
      throw APIStore.Refusal(status: 400, message: "the body is not JSON")
    }
  }

  // MARK: Responses

  /// Returns a response with a record.
  private func success(_ body: SyncObject, status: Int = 200) -> Response {
    guard let envelope = style.envelope else { return .json(.object(body), status: status) }
    var whole: SyncObject = [envelope: .object(body)]
    if style.hasOK { whole["ok"] = true }
    return .json(.object(whole), status: status)
  }

  func refusal(_ status: Int, _ message: String) -> Response {
    var body: SyncObject = ["message": .text(message)]
    if style.hasOK { body["ok"] = false }
    return .json(.object(body), status: status == 422 && style.refusesWith200 ? 200 : status)
  }

  func note(_ violation: Violation) { self.violation = self.violation ?? violation }

  private func isTooOften(_ device: String) -> Bool {
    let now = machine.scheduler.now
    var times = recent[device, default: []].filter { $0 > now - 10_000_000 }
    times.append(now)
    recent[device] = times
    return times.count > Self.mostRequestsAtOnce
  }
}
