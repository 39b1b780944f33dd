import SyncModel

/// The data of a simulated API. Each entity numbers its resources on its own, so that ids of different entities are equal.
struct APIStore: Sendable {
  /// A resource. Its fields have the names of the columns, and references are ids of the API.
  struct Resource: Sendable {
    let id: Int64
    /// The name that a client has given to the resource; `nil` if it was created without one.
    let key: String?
    /// The device that has created the resource; `nil` for another program.
    let creator: String?
    var fields: SyncObject
    /// Whether a field has a value of a wrong type.
    var isBroken = false

    var code: String { fields.text("code") ?? "" }
  }

  /// A reference that the API keeps valid.
  struct Reference: Sendable {
    let column: String
    let entity: String
    /// Whether a resource is deleted with the referenced one. Otherwise the reference is emptied.
    let cascades: Bool
  }

  /// The reason why the API refuses a request.
  struct Refusal: Error {
    let status: Int
    let message: String
  }

  /// The API refuses resources with this amount.
  static let refusedAmount = 63.25

  let references: [String: [Reference]]
  let refusesAmounts: Bool
  private var resources: [String: [Int64: Resource]] = [:]
  private var last: [String: Int64] = [:]
  /// The resources that were deleted, by entity.
  private(set) var deleted: [String: Set<Int64>] = [:]
  /// The resources that have changed the resource with which they would be deleted, by entity.
  private var moved: [String: Set<Int64>] = [:]
  /// The ids of the resources that ever had a title, by title.
  private(set) var titles: [String: Set<Int64>] = [:]

  init(references: [String: [Reference]], refusesAmounts: Bool) {
    (self.references, self.refusesAmounts) = (references, refusesAmounts)
  }

  /// Returns the resources of an entity by their ids.
  func all(_ entity: String) -> [Resource] { (resources[entity] ?? [:]).values.sorted { $0.id < $1.id } }

  func resource(_ entity: String, _ id: Int64) -> Resource? { resources[entity]?[id] }

  /// Returns the resources that belong to another one.
  func children(_ entity: String, column: String, of id: Int64) -> [Resource] {
    all(entity).filter { $0.fields[column] == .integer(id) }
  }

  /// Returns the codes of a resource and of everything that would be deleted with it.
  func family(_ entity: String, _ id: Int64) -> Set<String> {
    var codes: Set<String> = []
    if let code = resource(entity, id)?.code { codes.insert(code) }
    for (child, column) in cascading(from: entity) {
      for other in children(child, column: column, of: id) { codes.formUnion(family(child, other.id)) }
    }
    return codes
  }

  /// Returns whether a resource was moved, or one with which it would be deleted.
  func hasMoved(_ entity: String, _ id: Int64) -> Bool {
    if moved[entity]?.contains(id) == true { return true }
    return (references[entity] ?? []).contains { reference in
      guard reference.cascades, case .integer(let parent)? = resource(entity, id)?.fields[reference.column] else {
        return false
      }
      return hasMoved(reference.entity, parent)
    }
  }

  // MARK: Changes

  mutating func create(
    _ entity: String, _ fields: SyncObject, key: String?, creator: String?
  ) throws(Refusal) -> Resource {
    try check(entity, fields)
    let id = (last[entity] ?? 0) + 1
    last[entity] = id
    let resource = Resource(id: id, key: key, creator: creator, fields: fields)
    resources[entity, default: [:]][id] = resource
    note(resource)
    return resource
  }

  mutating func update(_ entity: String, _ id: Int64, _ fields: SyncObject) throws(Refusal) -> Resource {
    guard var resource = resource(entity, id) else { throw Refusal(status: 404, message: "no such \(entity)") }
    let all = resource.fields.overlaid(with: fields)
    try check(entity, all)
    let isMoved = (references[entity] ?? []).contains {
      $0.cascades && all[$0.column] != resource.fields[$0.column]
    }
    if isMoved { moved[entity, default: []].insert(id) }
    resource.fields = all
    resources[entity]?[id] = resource
    note(resource)
    return resource
  }

  mutating func delete(_ entity: String, _ id: Int64) throws(Refusal) {
    guard resources[entity]?.removeValue(forKey: id) != nil else {
      throw Refusal(status: 404, message: "no such \(entity)")
    }
    deleted[entity, default: []].insert(id)
    for (child, references) in references.sorted(by: { $0.key < $1.key }) {
      for reference in references where reference.entity == entity {
        for resource in children(child, column: reference.column, of: id) {
          if reference.cascades {
            try delete(child, resource.id)
          } else {
            resources[child]?[resource.id]?.fields[reference.column] = .null
          }
        }
      }
    }
  }

  /// Gives a resource an amount that is no number, or a number again.
  mutating func setBroken(_ isBroken: Bool, _ entity: String, _ id: Int64) {
    resources[entity]?[id]?.isBroken = isBroken
  }

  private mutating func note(_ resource: Resource) {
    if let title = resource.fields.text("title") { titles[title, default: []].insert(resource.id) }
  }

  private func cascading(from entity: String) -> [(entity: String, column: String)] {
    references.sorted { $0.key < $1.key }.flatMap { child, references in
      references.filter { $0.cascades && $0.entity == entity }.map { (child, $0.column) }
    }
  }

  /// Refuses values that the API does not accept.
  private func check(_ entity: String, _ fields: SyncObject) throws(Refusal) {
    if refusesAmounts, fields["amount"] == SyncValue(real: Self.refusedAmount) {
      throw Refusal(status: 422, message: "amount must be below 60")
    }
    for reference in references[entity] ?? [] {
      switch fields[reference.column] {
      case .integer(let id)? where resource(reference.entity, id) != nil: continue
      case .null? where !reference.cascades, nil where !reference.cascades: continue
      default: throw Refusal(status: 422, message: "\(reference.column) names no \(reference.entity)")
      }
    }
  }
}
