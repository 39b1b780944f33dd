import HTTPServer
import SyncModel

/// A request to a simulated API, by its method and path.
enum APICall {
  typealias EntityStyle = APIStyle.EntityStyle

  case health
  case account
  case list(EntityStyle, parent: Int64?)
  /// - Parameter key: the client's own name of the resource.
  case create(EntityStyle, parent: Int64?, key: String?)
  case find(EntityStyle, key: String)
  case read(EntityStyle, Int64)
  case update(EntityStyle, Int64)
  case delete(EntityStyle, Int64)

  /// - Returns: `nil` if the API has no such path.
  init?(_ request: Request, _ style: APIStyle) {
    guard request.path.hasPrefix(style.base) else { return nil }
    let path = request.path.dropFirst(style.base.count).split(separator: "/").map(String.init)
    func entity(_ index: Int) -> EntityStyle? { style.entities.first { $0.name == path[index] } }
    switch (request.method, path.count) {
    case (_, 0): self = .health
    case (_, 1) where path[0] == "health": self = .health
    case ("GET", 1) where path[0] == "account": self = .account
    case (let method, 1):
      guard let entity = entity(0) else { return nil }
      self = method == "GET" ? .list(entity, parent: nil) : .create(entity, parent: nil, key: nil)
    case (let method, 2):
      guard let entity = entity(0), let id = Int64(path[1]) else { return nil }
      switch method {
      case "GET": self = .read(entity, id)
      case "DELETE": self = .delete(entity, id)
      default: self = .update(entity, id)
      }
    case (let method, 3) where path[1] == APIStyle.keyed:
      guard let entity = entity(0) else { return nil }
      self = method == "GET" ? .find(entity, key: path[2]) : .create(entity, parent: nil, key: path[2])
    case (let method, 3):
      guard let entity = entity(2), let parent = Int64(path[1]) else { return nil }
      self = method == "GET" ? .list(entity, parent: parent) : .create(entity, parent: parent, key: nil)
    default: return nil
    }
  }

  var entity: EntityStyle? {
    switch self {
    case .health, .account: nil
    case .list(let entity, _), .create(let entity, _, _), .find(let entity, _), .read(let entity, _),
      .update(let entity, _), .delete(let entity, _):
      entity
    }
  }
}

extension APIStyle {
  /// Returns the fields of a body under the names of the columns.
  /// - Parameter isWhole: whether fields that the body lacks are empty.
  func fields(_ entity: EntityStyle, of body: SyncValue, isWhole: Bool) throws(APIStore.Refusal) -> SyncObject {
    var fields = SyncObject()
    for (column, names) in entity.places {
      guard let value = Self.value(at: names, in: body) else {
        if isWhole { fields[column] = .null }
        continue
      }
      switch (column, value) {
      case (_, .null), ("amount", .integer), ("amount", .real), ("amount", .number): fields[column] = value
      case (_, .text(let text)) where isReference(column, of: entity): fields[column] = Int64(text).map { .integer($0) }
      case (_, .integer) where isReference(column, of: entity): fields[column] = value
      case (_, .text) where column != "amount": fields[column] = value
      default: throw APIStore.Refusal(status: 400, message: "\(column) has a wrong type")
      }
    }
    return fields
  }

  /// Returns a resource as the API shows it, with the resources that are listed within it.
  func body(_ entity: EntityStyle, _ resource: APIStore.Resource, _ store: APIStore) -> SyncObject {
    var body: SyncObject = ["id": id(resource.id)]
    for (column, names) in entity.places {
      var value = resource.fields[column] ?? .null
      if case .integer(let other) = value, isReference(column, of: entity) { value = id(other) }
      if column == "amount", resource.isBroken { value = "far" }
      Self.set(value, at: names[...], in: &body)
    }
    for child in entities where child.isNested && child.parent?.entity == entity.kind.entity {
      guard let column = child.parent?.columns[0] else { continue }
      body[child.name] = .array(
        store.children(child.kind.entity, column: column, of: resource.id).map {
          .object(self.body(child, $0, store))
        })
    }
    return body
  }

  func id(_ number: Int64) -> SyncValue { hasTextIds ? .text(String(number)) : .integer(number) }

  private func isReference(_ column: String, of entity: EntityStyle) -> Bool {
    entity.kind.references.contains { $0.columns == [column] }
  }

  private static func value(at names: [String], in body: SyncValue) -> SyncValue? {
    names.reduce(body as SyncValue?) { value, name in
      guard case .object(let object)? = value else { return nil }
      return object[name]
    }
  }

  private static func set(_ value: SyncValue, at names: ArraySlice<String>, in object: inout SyncObject) {
    guard let first = names.first else { return }
    guard names.count > 1 else { return object[first] = value }
    var inner = SyncObject()
    if case .object(let present)? = object[first] { inner = present }
    set(value, at: names.dropFirst(), in: &inner)
    object[first] = .object(inner)
  }
}
