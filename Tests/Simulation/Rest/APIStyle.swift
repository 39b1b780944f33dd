import GeneratedSchemas
import SyncModel
import TestSupport

/// The form of a simulated API: its paths, bodies and pages, and how it recognises a repeated request.
struct APIStyle: Sendable {
  /// How the API allows a client to repeat a request that creates a resource.
  enum Repeats: String, CaseIterable { case header, lookUp, byUUID, mayDuplicate }

  enum Paging: Sendable {
    case none
    case number(first: Int)
    case offset
    /// The address of the next page.
    case address
    /// A value for a parameter.
    case cursor
  }

  struct EntityStyle: Sendable {
    let kind: Kind
    /// The segment of a path.
    let name: String
    /// The reference to the resource that this one belongs to.
    let parent: Kind.Reference?
    var isCreated = true
    var isDeleted = true
    var hasGet = true
    var updates = "PATCH"
    var repeats = Repeats.header
    var paging = Paging.none
    var pageSize = 5
    /// Whether the resources are listed within those that they belong to.
    var isNested = false
    /// Whether the last resource is listed first, so that pages shift.
    var isNewestFirst = false
    var isComplete = true

    /// The columns that are sent and read, with their places in a body.
    var places: [(column: String, names: [String])] = [
      ("code", ["code"]), ("title", ["title"]), ("note", ["details", "note"]), ("amount", ["amount"]),
    ]
  }

  let base: String
  /// The member of a response that contains the record; `nil` for the whole response.
  let envelope: String?
  /// Whether a response says in its body whether the request succeeded.
  let hasOK: Bool
  /// Whether refusals have the status 200.
  let refusesWith200: Bool
  let hasAccount: Bool
  let hasTextIds: Bool
  let freshSeconds: Int64
  let refusesAmounts: Bool
  private(set) var entities: [EntityStyle] = []

  /// Draws a style.
  init(_ random: inout Seeded) {
    base = random.pick(["", "/api", "/v2/field"])
    envelope = random.pick([nil, "data"])
    hasOK = envelope != nil && random.chance(0.5)
    refusesWith200 = hasOK && random.chance(0.5)
    hasAccount = random.chance(0.5)
    hasTextIds = random.chance(0.3)
    freshSeconds = random.pick([0, 30, 300])
    refusesAmounts = random.chance(0.6)
    for kind in Kind.stationKinds {
      let parent = kind.references.first { !$0.isOptional }
      var entity = EntityStyle(kind: kind, name: Self.segment(kind), parent: parent)
      entity.isCreated = parent != nil || random.chance(0.7)
      entity.isDeleted = random.chance(0.85)
      entity.hasGet = random.chance(0.8)
      entity.updates = random.pick(["PATCH", "PATCH", "PUT", "POST"])
      entity.repeats = random.pick([.header, .lookUp, .lookUp, .lookUp, .byUUID, .byUUID, .mayDuplicate])
      entity.isNested = parent != nil && random.chance(0.35)
      if !entity.isNested {
        entity.paging = random.pick([.none, .number(first: 0), .number(first: 1), .offset, .address, .cursor])
      }
      entity.pageSize = random.number(2..<9)
      entity.isNewestFirst = random.chance(0.3)
      entity.isComplete = random.chance(0.85)
      for reference in kind.references {
        // The list within another resource names that one by its place.
        let isSent = !entity.isNested || reference.isOptional || entity.repeats == .byUUID
        if isSent { entity.places.append((reference.columns[0], [String(reference.columns[0].dropLast(2))])) }
      }
      entities.append(entity)
    }
  }

  func entity(_ type: String) -> EntityStyle? { entities.first { $0.kind.entity == type } }

  /// The references of all entities, as the API keeps them.
  var references: [String: [APIStore.Reference]] {
    var all: [String: [APIStore.Reference]] = [:]
    for entity in entities {
      all[entity.kind.entity] = entity.kind.references.map {
        APIStore.Reference(column: $0.columns[0], entity: $0.entity, cascades: !$0.isOptional)
      }
    }
    return all
  }

  private static func segment(_ kind: Kind) -> String { kind.entity.lowercased().replacing(" ", with: "-") + "s" }

  /// The segment by which a client names a resource with its own UUID.
  static let keyed = "keyed"

  // MARK: The route file

  /// The route file that describes the API.
  var routeFile: String {
    var file: SyncObject = [
      "format": 1, "service": "stations", "freshSeconds": .integer(freshSeconds),
      "health": "GET /health",
    ]
    if !base.isEmpty { file["base"] = .text(base) }
    if hasAccount { file["account"] = ["request": "GET /account", "id": "id", "user": "name"] }
    var answers: SyncObject = ["problem": ["message"]]
    if let envelope { answers["record"] = .text(envelope) }
    if hasOK { answers["ok"] = "ok" }
    file["answers"] = .object(answers)
    file["entities"] = .object(SyncObject(entities.map { ($0.kind.entity, .object(routes($0))) }))
    return SyncValue.object(file).json
  }

  private func routes(_ entity: EntityStyle) -> SyncObject {
    var routes: SyncObject = [
      "fields": .object(SyncObject(entity.places.map { ($0.column, .text($0.names.joined(separator: "."))) }))
    ]
    let path = "/\(entity.name)"
    let parent = entity.parent.flatMap { reference in
      self.entity(reference.entity).map { "/\($0.name)/{\(reference.columns[0])}" }
    }
    let within = (parent ?? "") + path
    routes["update"] = .text("\(entity.updates) \(path)/{id}")
    if entity.isDeleted { routes["delete"] = .text("DELETE \(path)/{id}") }
    if entity.hasGet { routes["get"] = .text("GET \(path)/{id}") }
    if entity.isCreated {
      routes["create"] = .text(
        entity.repeats == .byUUID ? "PUT \(path)/\(Self.keyed)/{uuid}" : "POST \(within)")
      routes["repeat"] =
        switch entity.repeats {
        case .header: ["header": "Idempotency-Key"]
        // The list of all resources has pages, and that of one parent has none.
        case .lookUp:
          [
            "lookUp": .text("GET \(entity.isNested ? within : path)"), "items": .text(Self.items),
            "match": ["code"],
          ]
        case .byUUID:
          [
            "lookUp": .text("GET \(path)/\(Self.keyed)/{uuid}"), "items": .text(envelope ?? ""),
            "match": ["code"],
          ]
        case .mayDuplicate: ["mayDuplicate": true]
        }
    }
    routes["list"] = .object(list(entity, path))
    return routes
  }

  /// The places of a list and of the next page in a response.
  static let items = "items", next = "next"

  private func list(_ entity: EntityStyle, _ path: String) -> SyncObject {
    if entity.isNested, let parent = entity.parent {
      return ["within": .text(parent.entity), "items": .text(entity.name)]
    }
    var list: SyncObject = ["request": .text("GET \(path)"), "items": .text(Self.items)]
    if !entity.isComplete { list["complete"] = false }
    let count = SyncValue.integer(Int64(entity.pageSize))
    switch entity.paging {
    case .none: break
    case .number(let first):
      list["page"] = ["number": "page", "first": .integer(Int64(first)), "size": "size", "count": count]
    case .offset: list["page"] = ["offset": "skip", "size": "limit", "count": count]
    case .address: list["page"] = ["next": .text(Self.next)]
    case .cursor: list["page"] = ["next": .text(Self.next), "parameter": "after"]
    }
    return list
  }
}
