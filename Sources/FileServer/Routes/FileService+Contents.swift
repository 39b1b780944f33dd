import Platform
import HTTPServer
import ServerStorage
import SyncModel

extension FileService {
  /// `GET` and `HEAD /v1/files/{content}/{variant}`: returns a finished content or a part of it.
  func content(_ call: RouteCall<Member>) async throws -> Response {
    let words = call.variables
    guard let name = ContentName(text: "\(words["content"] ?? "")/\(words["variant"] ?? "")") else {
      throw HTTPProblem.noSuchContent
    }
    guard try await hidden(call.caller, [name.content]).isEmpty else { throw HTTPProblem.noSuchContent }
    guard let (stored, file) = try await storage.open(call.caller.account, name) else {
      // A redirect would have the client send its token to the store.
      if try await objects?.knows(call.caller.account, name) == true { throw HTTPProblem.inObjectStore }
      throw HTTPProblem.noSuchContent
    }
    return Self.respond(to: call.request, stored, file)
  }

  /// `POST /v1/files/missing`: returns the files that the server lacks.
  func missing(_ call: RouteCall<Member>) async throws -> Response {
    let names = try names(call)
    let hidden = try await hidden(call.caller, names.map(\.name.content))
    var lacking: [(file: String, name: ContentName)] = []
    for (file, name) in names {
      if !hidden.contains(name.content), try await storage.content(call.caller.account, name) != nil { continue }
      lacking.append((file, name))
    }
    let found = try await inObjectStore(
      call.caller.account, lacking.map(\.name).filter { !hidden.contains($0.content) })
    let missing = lacking.filter { !found.contains($0.name) }
    return .json(MissingFilesResponse(missing: missing.map(\.file)).wire)
  }

  /// `POST /v1/files/digests`: the digests of the server's files.
  func digests(_ call: RouteCall<Member>) async throws -> Response {
    var held: [String: FileDigestsResponse.Held] = [:]
    let names = try names(call)
    let hidden = try await hidden(call.caller, names.map(\.name.content))
    for (file, name) in names where !hidden.contains(name.content) {
      var digest = try await storage.digest(call.caller.account, name)
      if digest == nil { digest = try await refusing { try await objects?.digest(call.caller.account, name) } }
      guard let digest else { continue }
      held[file] = .init(byteCount: digest.byteCount, sha256: digest.sha256, contentDigest: digest.contentDigest)
    }
    return .json(FileDigestsResponse(files: held).wire)
  }

  /// The files that a request names.
  private func names(_ call: RouteCall<Member>) throws(HTTPProblem) -> [(file: String, name: ContentName)] {
    let request = try call.body(as: MissingFilesRequest.self)
    guard request.files.count <= MissingFilesRequest.greatestCount else {
      throw .invalid("files must be a list of at most \(MissingFilesRequest.greatestCount) names", field: "files")
    }
    var names: [(file: String, name: ContentName)] = []
    for file in request.files {
      guard let name = ContentName(text: file) else {
        throw .invalid("each file must be a lowercase UUID, /, and full or thumbnail", field: "files")
      }
      names.append((file, name))
    }
    return names
  }

  /// Returns the contents that the object store has, if there is one. Several are requested concurrently.
  private func inObjectStore(_ account: AccountName, _ names: [ContentName]) async throws -> Set<ContentName> {
    guard let objects else { return [] }
    return try await refusing {
      try await withThrowingTaskGroup(of: ContentName?.self) { group in
        var rest = names[...]
        func next() {
          guard let name = rest.popFirst() else { return }
          group.addTask { try await objects.content(account, name) == nil ? nil : name }
        }
        for _ in 0..<Self.questionsAtOnce { next() }
        var found: Set<ContentName> = []
        while let name = try await group.next() {
          if let name { found.insert(name) }
          next()
        }
        return found
      }
    }
  }

  /// The number of concurrent requests to an object store for one request.
  private static let questionsAtOnce = 8

  static func respond(to request: Request, _ stored: StoredContent, _ file: OpenedFile) -> Response {
    let tag = "\"\(stored.tag)\""
    var response = Response.empty(200, [("ETag", tag), ("Accept-Ranges", "bytes")])
    if let known = request.headers["if-none-match"], names(known, tag) {
      response.status = 304
      return response
    }
    // A client's file must never be run by a browser.
    response.contentType = "application/octet-stream"
    response.headers.append(("X-Content-Type-Options", "nosniff"))
    switch range(request, stored, tag) {
    case .whole:
      response.file = FilePart(file: file, start: 0, count: Int(stored.byteCount))
    case .part(let part):
      response.status = 206
      response.file = FilePart(file: file, start: part.lowerBound, count: part.count)
      response.headers.append(
        ("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(stored.byteCount)"))
    case .unsatisfiable:
      var problem = HTTPProblem(
        416, "The range is outside the content", "the content has \(stored.byteCount) bytes", field: "Range")
      problem.headers["Content-Range"] = "bytes */\(stored.byteCount)"
      return problem.response
    }
    return response
  }

  private static func range(_ request: Request, _ stored: StoredContent, _ tag: String) -> ByteRange {
    // Ranges are for GET only. If the content is not the one that the client has a part of, all of it is sent.
    guard request.method == "GET", let text = request.headers["range"],
      request.headers["if-range"].map({ $0 == tag }) ?? true
    else { return .whole }
    return ByteRange(text, of: stored.byteCount)
  }

  private static func names(_ list: String, _ tag: String) -> Bool {
    list.split(separator: ",").contains { element in
      let word = element.drop { $0 == " " }.prefix { $0 != " " }
      return word == "*" || (word.hasPrefix("W/") ? word.dropFirst(2) : word) == tag
    }
  }
}

/// The range of a `Range` header.
enum ByteRange: Equatable {
  case whole
  case part(Range<Int64>)
  case unsatisfiable

  /// Parses a range. A single range is sent as such. Several ranges, or an unknown form, return the whole content, as
  /// RFC 9110 allows.
  init(_ text: String, of count: Int64) {
    self = .whole
    let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.count == 2, sides[0].lowercased() == "bytes" else { return }
    let bounds = sides[1].split(separator: "-", omittingEmptySubsequences: false)
    guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else { return }
    switch (Self.number(bounds[0]), Self.number(bounds[1])) {
    case (nil, nil): return
    case (nil, let suffix?): self = Self.part(from: max(0, count - suffix), to: suffix == 0 ? 0 : count)
    case (let start?, nil): self = Self.part(from: start, to: count)
    case (let start?, let last?):
      if last >= start { self = Self.part(from: start, to: last >= count ? count : last + 1) }
    }
  }

  private static func part(from start: Int64, to end: Int64) -> ByteRange {
    start < end ? .part(start..<end) : .unsatisfiable
  }

  private static func number(_ digits: Substring) -> Int64? { digits.isEmpty ? nil : Int64(digits) ?? .max }
}

extension ContentName {
  /// Parses the name of a file: a lowercase UUID, `/`, and the variant.
  init?(text: String) {
    let words = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 2, UUIDText.isCanonical(words[0]), let variant = Variant(rawValue: words[1]) else {
      return nil
    }
    self.init(content: words[0], variant: variant)
  }
}
