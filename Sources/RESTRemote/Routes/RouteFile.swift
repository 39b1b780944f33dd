import SyncModel

/// The mapping between the records of a vault and an existing API. The article "REST remotes" describes the file.
/// ``init(json:)`` parses it, and `check(against:)` compares it with the tables.
public struct RouteFile: Equatable, Sendable {
  /// The name of the API, for the user.
  public var service: String
  /// The prefix of every path, such as `/api`; may be empty.
  public var base: String
  /// The request that shows whether the API is reachable; `nil` requests the base.
  public var health: RouteCall?
  /// The request for the user of the token, or `nil` if the API has no such feature.
  public var account: AccountRoute?
  /// The form of responses.
  public var responseRules: ResponseRules
  /// The number of seconds for which a fetched list counts as current.
  public var freshSeconds: Int64
  /// The routes by entity type.
  public var entities: [String: EntityRoutes]

  /// A `GET` that returns the user of the token.
  public struct AccountRoute: Equatable, Sendable {
    /// The path.
    public var call: RouteCall
    /// The position of the account's id.
    public var id: JSONPlace
    /// The position of the user's name.
    public var user: JSONPlace?
  }
}

/// The form of an API's responses.
public struct ResponseRules: Equatable, Sendable {
  /// The position of the record.
  public var record = JSONPlace.whole
  /// A value that must be true in a successful response, independent of its status; `nil` if the status decides.
  public var ok: JSONPlace?
  /// The positions of the reason of a refusal. The first existing one counts.
  public var problem: [JSONPlace] = []
  /// The statuses whose meaning differs from the usual one.
  public var meanings: [Int: Meaning] = [:]

  /// The statuses that refuse the token.
  package var credentialStatuses: Set<Int> {
    Set(meanings.filter { $0.value == .credentials }.keys).union(meanings[401] == nil ? [401] : [])
  }

  /// The meaning of a status.
  public enum Meaning: String, CaseIterable, Sendable {
    /// Done; an earlier attempt has done it perhaps.
    case done
    /// The resource of the path no longer exists.
    case gone
    /// The record is invalid, and the user has to act.
    case invalid
    /// The server cannot handle the request now; no attempt is counted.
    case later
    /// The server failed at it; an attempt.
    case attempt
    /// The token is not valid.
    case credentials
  }
}

/// The routes by which the records of one entity are sent and fetched.
public struct EntityRoutes: Equatable, Sendable {
  /// The fields that are sent and read, each with its position in a body. `nil`: all fields that are not device-only,
  /// under their names.
  public var fields: [String: JSONPlace]?
  /// The position of the server's id in a record.
  public var id = JSONPlace(member: "id")
  /// The request that creates a record; `nil` if devices create no records.
  public var create: RouteCall?
  /// The request that changes a record.
  public var update: RouteCall?
  /// The request that deletes a record.
  public var delete: RouteCall?
  /// The request that reads a record, to find out which of several parents is missing.
  public var get: RouteCall?
  /// The rule that makes a repeated create harmless.
  public var repeats: RepeatRule?
  /// The source of the entity's records. An object instead of a list is the only record, and needs no id.
  public var list: ListRoute?
  /// The upload of the image of a record.
  public var image: ImageRoute?
  /// Assumptions that no document of the API confirms, for the user.
  public var assumed: String?

  /// Whether a record is sent together with its image in one request.
  var goesWithImage: Bool { image?.makesRecord == true }
}

/// The rule that makes it harmless to repeat a create whose response was lost.
public enum RepeatRule: Equatable, Sendable {
  /// The API identifies an operation by the id in this header.
  case header(String)
  /// The existing records are searched before a create is repeated.
  case lookUp(RouteCall, items: JSONPlace, match: [String])
  /// Does not prevent a duplicate record on the server.
  case mayDuplicate
}

/// A list of records that an API provides.
public enum ListRoute: Equatable, Sendable {
  /// A separate request. If `isComplete`, records missing from the list were deleted.
  case call(RouteCall, items: JSONPlace, paging: Paging, isComplete: Bool)
  /// Within each record of another list.
  case within(String, items: JSONPlace)
}

/// The rule that finds the next page of a list.
public enum Paging: Equatable, Sendable {
  /// The list has a single page.
  case none
  /// Pages by number, starting at `first`, with `count` records each.
  case number(parameter: String, first: Int64, size: String?, count: Int64)
  /// Pages by the number of skipped records, with `count` records each.
  case offset(parameter: String, size: String?, count: Int64)
  /// Pages by a value in the response: an address, or a text for a parameter.
  case next(JSONPlace, parameter: String?)
}

/// The upload of an image.
public enum ImageRoute: Equatable, Sendable {
  /// A multipart form (RFC 7578): the image as `file`, and the fields of the record. The response has the id of the
  /// record that this request creates.
  case multipart(RouteCall, file: String)
  /// An upload to an address that the API provides, followed by a confirmation.
  case presigned(PresignedRoute)
  /// An upload by tus 1.0. The metadata consists of fields of the record, under the names of the API.
  case tus(PathTemplate, metadata: [String: String])

  /// Whether the request with the image creates the record.
  var makesRecord: Bool {
    if case .multipart = self { return true }
    return false
  }
}

/// An upload in three steps: an address is requested, the image is sent to the address, and the upload is confirmed.
public struct PresignedRoute: Equatable, Sendable {
  /// The request for the address; the body has `contentType`, `fileName` and `byteCount` under the names of `body`.
  public var address: RouteCall
  /// The API's names for facts about the image.
  public var body: [String: JSONPlace]
  /// The position of the address in the response.
  public var url: JSONPlace
  /// The position of the headers for the image, or `nil`.
  public var headers: JSONPlace?
  /// The position of the image's key.
  public var key: JSONPlace?
  /// The confirmation, or `nil` if the API has no such feature.
  public var confirm: RouteCall?
  /// The position of the key in the body of the confirmation.
  public var confirmKey: JSONPlace?
}
