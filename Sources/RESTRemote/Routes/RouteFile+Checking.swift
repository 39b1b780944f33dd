import VaultStore

extension RouteFile {
  /// Checks the routes against the tables of a vault.
  /// - Throws: ``RouteFileError`` with all problems.
  package func check(against catalog: SyncCatalog) throws(RouteFileError) {
    var problems: [RouteProblem] = []
    for (type, routes) in entities.sorted(by: { $0.key < $1.key }) {
      guard let table = catalog.tables[type] else {
        let known = catalog.tables.keys.sorted().joined(separator: ", ")
        problems.append(
          RouteProblem("this vault has no synced entity '\(type)'", hint: "it has \(known)", at: "entities.\(type)"))
        continue
      }
      problems += RouteCheck(file: self, routes: routes, table: table, catalog: catalog).problems()
    }
    if problems.isEmpty { problems += circles(catalog) }
    if !problems.isEmpty { throw RouteFileError(problems: problems) }
  }

  /// Finds records that can never be created, because each needs the other's id at the API.
  private func circles(_ catalog: SyncCatalog) -> [RouteProblem] {
    var done: Set<String> = []
    func circle(from type: String, _ path: [String]) -> [String]? {
      if let start = path.firstIndex(of: type) { return Array(path[start...]) + [type] }
      guard !done.contains(type), let routes = entities[type], routes.create != nil || routes.goesWithImage,
        let table = catalog.tables[type]
      else { return nil }
      for parent in RouteCheck(file: self, routes: routes, table: table, catalog: catalog).neededParents()
      where entities[parent]?.create != nil {
        if let found = circle(from: parent, path + [type]) { return found }
      }
      done.insert(type)
      return nil
    }
    for type in entities.keys.sorted() {
      guard let found = circle(from: type, []) else { continue }
      return [
        RouteProblem(
          "circular references between new records: \(found.joined(separator: " needs "))",
          hint: "remove the id from one path, or send one field later in an update", at: "entities.\(found[0])")
      ]
    }
    return []
  }
}

/// Holds the routes of one entity against its table.
struct RouteCheck {
  let file: RouteFile
  let routes: EntityRoutes
  let table: RecordTable
  let catalog: SyncCatalog

  private var type: String { table.entity.type }
  private func at(_ member: String) -> String { "entities.\(type).\(member)" }

  func problems() -> [RouteProblem] {
    var problems: [RouteProblem] = fieldProblems()
    for (member, call) in [
      ("create", routes.create), ("update", routes.update), ("delete", routes.delete), ("get", routes.get),
    ] {
      guard let call else { continue }
      problems += placeholders(of: call.path, member)
      if member != "create", !call.path.placeholders.contains(where: { $0 == ["id"] || $0 == ["uuid"] }) {
        problems.append(
          RouteProblem(
            "the path does not identify the record", hint: "add {id} to the path", at: at(member)))
      }
    }
    problems += creationProblems() + listProblems() + imageProblems()
    return problems
  }

  private func fieldProblems() -> [RouteProblem] {
    guard let fields = routes.fields else { return [] }
    let known = table.columns.map(\.name)
    return fields.keys.sorted().filter { !known.contains($0) }.map { name in
      RouteProblem(
        "\(type) has no shared field '\(name)'", hint: "it has \(known.joined(separator: ", "))",
        at: at("fields.\(name)"))
    }
  }

  /// Checks that a name can be used in a path, and returns the problem otherwise.
  private func placeholders(of path: PathTemplate, _ member: String) -> [RouteProblem] {
    path.placeholders.compactMap { names in
      if names == ["key"], member == "image.confirm" { return nil }
      var table = table
      for (index, name) in names.enumerated() {
        if index == names.count - 1, name == "id" || name == "uuid" {
          // The id of a record that is being created is unknown.
          let isOwn = names.count == 1 && name == "id" && member == "create"
          return isOwn
            ? RouteProblem("a new record has no {id} yet", hint: "{uuid}, or the id of a parent", at: at(member)) : nil
        }
        guard let column = table.columns.first(where: { $0.name == name }) else {
          let known = (["id", "uuid"] + table.columns.map(\.name)).joined(separator: ", ")
          return RouteProblem(
            "\(table.entity.type) has no {\(names.joined(separator: "."))}", hint: "it has \(known)",
            at: at(member))
        }
        guard let reference = column.reference else {
          return index == names.count - 1
            ? nil
            : RouteProblem(
              "{\(names.joined(separator: "."))} follows '\(name)', which is not a reference",
              hint: "only a reference leads to another record", at: at(member))
        }
        guard file.entities[reference.entityType]?.givesIds == true else {
          return RouteProblem(
            "{\(names.joined(separator: "."))} requires the id of a \(reference.entityType), which the API never sends",
            hint: "add a 'create' or a 'list' to \(reference.entityType)", at: at(member))
        }
        guard let next = catalog.tables[reference.entityType] else { return nil }
        table = next
      }
      return nil
    }
  }

  private func creationProblems() -> [RouteProblem] {
    let call = creation
    guard let call else {
      return routes.repeats == nil
        ? [] : [RouteProblem("'repeat' requires a 'create' or an 'image'", hint: "remove it", at: at("repeat"))]
    }
    var problems: [RouteProblem] = []
    let member = routes.create == nil ? "image" : "create"
    let inPath = Set(call.path.placeholders.compactMap(\.first))
    for column in table.columns where column.reference != nil && column.column.isNotNull {
      let isSent = routes.fields?[column.name] != nil || routes.fields == nil
      if !inPath.contains(column.name), !isSent {
        problems.append(
          RouteProblem(
            "\(column.name) is neither in the path nor in a field, so the API cannot find the parent",
            hint: "add {\(column.name)} to the path, or \(column.name) to the fields", at: at(member)))
      }
    }
    switch routes.repeats {
    case nil:
      problems.append(
        RouteProblem(
          "it does not define how to repeat a request after a lost response",
          hint: "{\"header\": NAME}, {\"lookUp\": \"GET /path\", \"match\": [...]} or {\"mayDuplicate\": true}",
          at: at("repeat")))
    case .lookUp(let call, _, let match)?:
      problems += placeholders(of: call.path, "repeat.lookUp")
      for name in match where sentFields[name] == nil {
        problems.append(
          RouteProblem(
            "'\(name)' is not a field that is sent", hint: "one of \(sentFields.keys.sorted().joined(separator: ", "))",
            at: at("repeat.match")))
      }
    case .header?, .mayDuplicate?: break
    }
    return problems
  }

  private func listProblems() -> [RouteProblem] {
    guard case .within(let other, _)? = routes.list else {
      if case .call(let call, _, _, _)? = routes.list, let name = call.path.placeholders.first {
        return [
          RouteProblem(
            "a list request has no record to provide {\(name.joined(separator: "."))}",
            hint: "list it within the other entity: \"within\": ENTITY", at: at("list"))
        ]
      }
      return []
    }
    var seen = [type]
    var next = other
    while let list = file.entities[next]?.list {
      if seen.contains(next) {
        return [
          RouteProblem(
            "\((seen + [next]).joined(separator: " is within "))", hint: "one of them requires its own request",
            at: at("list.within"))
        ]
      }
      guard case .within(let further, _) = list else {
        let isChild = table.columns.contains { $0.reference?.entityType == other }
        return isChild
          ? []
          : [
            RouteProblem(
              "\(type) has no field that refers to a \(other)", hint: "use a separate list request",
              at: at("list.within"))
          ]
      }
      seen.append(next)
      next = further
    }
    return [RouteProblem("\(next) has no list", hint: "an entity that has one", at: at("list.within"))]
  }

  private func imageProblems() -> [RouteProblem] {
    guard let image = routes.image else { return [] }
    guard table.columns.contains(where: { $0.name == "contentUuid" }) else {
      return [
        RouteProblem("\(type) has no images", hint: "only an entity with contentUuid has images", at: at("image"))
      ]
    }
    switch image {
    case .multipart(let call, _):
      let extra =
        routes.create == nil
        ? []
        : [
          RouteProblem(
            "this request already creates the record", hint: "remove 'create', or send images with another request",
            at: at("image"))
        ]
      return placeholders(of: call.path, "create").map { $0.at(at("image.multipart")) } + extra
    case .presigned(let route):
      return placeholders(of: route.address.path, "image.presigned")
        + (route.confirm.map { placeholders(of: $0.path, "image.confirm") } ?? [])
    case .tus(let path, let metadata):
      return placeholders(of: path, "image.tus")
        + metadata.values.sorted().filter { name in !table.columns.contains { $0.name == name } }.map {
          RouteProblem("\(type) has no shared field '\($0)'", hint: "a field of the record", at: at("image.metadata"))
        }
    }
  }

  /// The request that creates a record.
  private var creation: RouteCall? {
    if let call = routes.create { return call }
    if case .multipart(let call, _)? = routes.image { return call }
    return nil
  }

  /// The position of each sent field.
  var sentFields: [String: JSONPlace] { routes.sentFields(of: table) }

  /// The entities whose id at the API is needed to create a record.
  func neededParents() -> [String] {
    guard let creation else { return [] }
    let inPath = Set(creation.path.placeholders.compactMap(\.first))
    return table.columns.compactMap { column in
      guard let reference = column.reference else { return nil }
      return inPath.contains(column.name) || column.column.isNotNull && sentFields[column.name] != nil
        ? reference.entityType : nil
    }
  }
}

extension EntityRoutes {
  /// Whether the API ever returns the id of a record of this entity.
  var givesIds: Bool { create != nil || list != nil || goesWithImage }

  /// The position of each field that is sent and read. A field of the path is not sent in the body automatically.
  func sentFields(of table: RecordTable) -> [String: JSONPlace] {
    if let fields { return fields }
    let inPath = Set((create?.path.placeholders ?? []).compactMap(\.first))
    let own: Set<String> = ["contentUuid", "contentKey", "contentDigest", "thumbnailDigest"]
    var places: [String: JSONPlace] = [:]
    for column in table.columns where !inPath.contains(column.name) && !own.contains(column.name) {
      places[column.name] = JSONPlace(member: column.name)
    }
    return places
  }
}
