import SyncModel
import HTTPClient

extension RouteFile {
  /// The version of the format that ``init(json:)`` reads.
  public static let format: Int64 = 1
  /// The maximum size of a route file in bytes.
  public static let longestText = 1 << 20

  /// Reads a file.
  /// - Throws: ``RouteFileError`` with all problems.
  public init(json: String) throws(RouteFileError) {
    let problems = RouteProblems()
    let value: SyncValue
    do throws(SyncModelError) {
      value = try SyncValue(parsing: json)
    } catch {
      let place = error.byteOffset.map { "line \(Self.line(of: $0, in: json))" } ?? ""
      throw RouteFileError(problems: [RouteProblem(error.message, hint: "a JSON object is required", at: place)])
    }
    guard case .object(let object) = value else {
      throw RouteFileError(problems: [RouteProblem("it is not an object", hint: "a JSON object is required")])
    }
    let reader = RouteReader(object, at: "", problems)
    reader.onlyHas([
      "format", "service", "base", "health", "account", "answers", "freshSeconds", "entities",
    ])
    if reader.integer("format", in: Self.format...Self.format) == nil, !reader.has("format") {
      reader.wrong("format", "it is missing", hint: "\"format\": \(Self.format)")
    }
    service = reader.required("service", hint: "a display name for the API") ?? ""
    base = reader.text("base") ?? ""
    if !base.isEmpty {
      if base.hasSuffix("/") || base.contains(where: { "{}?".contains($0) }) {
        reader.wrong("base", "'\(base)' is not a path prefix", hint: "such as /api")
      } else {
        do throws(RouteProblem) {
          try PathTemplate.check(base)
        } catch {
          reader.wrong("base", error.message, hint: "such as /api")
        }
      }
    }
    health = reader.call("health", ["GET", "HEAD"])
    account = reader.object("account").flatMap(AccountRoute.init)
    responseRules = reader.object("answers").map(ResponseRules.init) ?? ResponseRules()
    freshSeconds = reader.integer("freshSeconds", in: 0...604_800) ?? 300
    entities = [:]
    for (name, inner) in reader.object("entities")?.objects() ?? [] {
      entities[name] = EntityRoutes(inner, responseRules)
    }
    if entities.isEmpty, problems.list.isEmpty {
      reader.wrong("entities", "no entity has a route", hint: "an object with a member for each entity")
    }
    guard problems.list.isEmpty else { throw RouteFileError(problems: problems.list) }
  }

  private static func line(of offset: Int, in text: String) -> Int {
    text.utf8.prefix(offset).reduce(1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
  }
}

extension RouteFile.AccountRoute {
  fileprivate init?(_ reader: RouteReader) {
    reader.onlyHas(["request", "id", "user"])
    if !reader.has("request") { reader.wrong("request", "it is missing", hint: "such as GET /account/me") }
    if !reader.has("id") { reader.wrong("id", "it is missing", hint: "the path of the account's id in the response") }
    guard let call = reader.call("request", ["GET"]), let id = reader.jsonPlace("id") else { return nil }
    self.init(call: call, id: id, user: reader.jsonPlace("user"))
  }
}

extension ResponseRules {
  fileprivate init(_ reader: RouteReader) {
    reader.onlyHas(["record", "ok", "problem", "meanings"])
    record = reader.jsonPlace("record") ?? record
    ok = reader.jsonPlace("ok")
    for text in reader.names("problem") ?? [] {
      guard let place = JSONPlace(text) else {
        reader.wrong("problem", "'\(text)' is not a path in a response", hint: "such as error.message")
        continue
      }
      problem.append(place)
    }
    guard let words = reader.object("meanings") else { return }
    for (name, _) in words.texts() {
      guard let status = Int(name), (200...599).contains(status) else {
        words.wrong(name, "'\(name)' is not a status", hint: "200 to 599")
        continue
      }
      meanings[status] = words.word(name, Meaning.self)
    }
  }
}

extension EntityRoutes {
  fileprivate init(_ reader: RouteReader, _ responseRules: ResponseRules) {
    self.init()
    reader.onlyHas([
      "fields", "id", "create", "update", "delete", "get", "repeat", "list", "image", "assumed",
    ])
    if let names = reader.object("fields") {
      var fields: [String: JSONPlace] = [:]
      for (name, _) in names.texts() { fields[name] = names.jsonPlace(name) }
      names.checkPlaces(fields)
      self.fields = fields
    }
    id = reader.jsonPlace("id") ?? id
    create = reader.call("create", ["POST", "PUT"])
    update = reader.call("update", ["PATCH", "PUT", "POST"])
    delete = reader.call("delete", ["DELETE", "POST"])
    get = reader.call("get", ["GET"])
    repeats = RepeatRule.read(reader, responseRules)
    list = reader.object("list").flatMap { ListRoute($0, responseRules) }
    image = reader.object("image").flatMap(ImageRoute.init)
    assumed = reader.text("assumed")
  }
}

extension RepeatRule {
  fileprivate static func read(_ outer: RouteReader, _ responseRules: ResponseRules) -> RepeatRule? {
    guard outer.has("repeat"), let reader = outer.object("repeat") else { return nil }
    reader.onlyHas(["header", "lookUp", "items", "match", "mayDuplicate"])
    if let header = reader.text("header") {
      if !HeaderName.isForRoutes(header) {
        reader.wrong("header", "the header '\(header)' cannot be set by a route file", hint: "such as Idempotency-Key")
      }
      return .header(header)
    }
    if let call = reader.call("lookUp", ["GET"]) {
      let match = reader.names("match") ?? []
      if match.isEmpty { reader.wrong("match", "no field given", hint: "fields that distinguish records") }
      return .lookUp(call, items: reader.jsonPlace("items") ?? responseRules.record, match: match)
    }
    if reader.flag("mayDuplicate") == true { return .mayDuplicate }
    outer.wrong(
      "repeat", "it does not define how to repeat a request",
      hint: "{\"header\": NAME}, {\"lookUp\": \"GET /path\", \"match\": [...]} or {\"mayDuplicate\": true}")
    return nil
  }
}

extension ListRoute {
  fileprivate init?(_ reader: RouteReader, _ responseRules: ResponseRules) {
    reader.onlyHas(["request", "within", "items", "page", "complete"])
    if let other = reader.text("within") {
      if !reader.has("items") {
        reader.wrong("items", "it is missing", hint: "the path of these records in a record of \(other)")
      }
      self = .within(other, items: reader.jsonPlace("items") ?? .whole)
      return
    }
    let items = reader.jsonPlace("items") ?? responseRules.record
    if !reader.has("request") {
      reader.wrong("request", "it is missing", hint: "\"request\": \"GET /path\", or \"within\": ENTITY")
    }
    guard let call = reader.call("request", ["GET"]) else { return nil }
    let paging = reader.object("page").flatMap(Paging.init) ?? .none
    self = .call(call, items: items, paging: paging, isComplete: reader.flag("complete") ?? true)
  }
}

extension Paging {
  fileprivate init?(_ reader: RouteReader) {
    reader.onlyHas(["number", "first", "offset", "size", "count", "next", "parameter"])
    let count = reader.integer("count", in: 1...10_000)
    if let place = reader.jsonPlace("next") {
      self = .next(place, parameter: reader.text("parameter"))
      return
    }
    guard reader.has("number") || reader.has("offset") else {
      reader.wrong("number", "it does not define the next page", hint: "number, offset or next")
      return nil
    }
    guard let count else {
      if !reader.has("count") { reader.wrong("count", "it is missing", hint: "the number of records in a page") }
      return nil
    }
    let size = reader.text("size")
    if let parameter = reader.text("number") {
      self = .number(parameter: parameter, first: reader.integer("first", in: 0...1) ?? 1, size: size, count: count)
    } else if let parameter = reader.text("offset") {
      self = .offset(parameter: parameter, size: size, count: count)
    } else {
      return nil
    }
  }
}

extension ImageRoute {
  fileprivate init?(_ reader: RouteReader) {
    reader.onlyHas([
      "multipart", "file", "presigned", "body", "url", "headers", "key", "confirm", "confirmKey", "tus", "metadata",
    ])
    if let call = reader.call("multipart", ["POST", "PUT"]) {
      self = .multipart(call, file: reader.text("file") ?? "file")
    } else if let call = reader.call("presigned", ["POST", "GET"]) {
      guard let url = reader.jsonPlace("url") else {
        if !reader.has("url") { reader.wrong("url", "it is missing", hint: "the path of the address in the response") }
        return nil
      }
      var body: [String: JSONPlace] = [:]
      if let names = reader.object("body") {
        names.onlyHas(["contentType", "fileName", "byteCount"])
        for (name, _) in names.texts() { body[name] = names.jsonPlace(name) }
        names.checkPlaces(body)
      }
      self = .presigned(
        PresignedRoute(
          address: call, body: body, url: url, headers: reader.jsonPlace("headers"), key: reader.jsonPlace("key"),
          confirm: reader.call("confirm", ["POST", "PUT", "PATCH"]), confirmKey: reader.jsonPlace("confirmKey")))
    } else if let text = reader.text("tus") {
      do throws(RouteProblem) {
        let metadata = reader.object("metadata")?.texts() ?? []
        self = .tus(try PathTemplate(text), metadata: Dictionary(metadata.map { ($0.name, $0.text) }) { $1 })
      } catch {
        reader.wrong("tus", error.message, hint: error.hint)
        return nil
      }
    } else {
      if !reader.has("multipart"), !reader.has("presigned"), !reader.has("tus") {
        reader.wrong("multipart", "it does not define the upload of images", hint: "multipart, presigned or tus")
      }
      return nil
    }
  }
}
