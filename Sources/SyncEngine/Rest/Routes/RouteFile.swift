import SyncModel

/// How an API that exists already takes and gives the records of a vault. The article "REST remotes" says how such a file
/// is written; ``init(json:)`` reads it and `check(against:)` holds it against the tables.
public struct RouteFile: Equatable, Sendable {
  /// What the API calls itself, for people.
  public var service: String
  /// Before every path, such as `/api`; empty for nothing.
  public var base: String
  /// What is asked to find out whether the API is there; nil asks for the base.
  public var health: RouteCall?
  /// Who the token belongs to; nil where the API does not say.
  public var account: AccountRoute?
  /// How answers look.
  public var answers: ResponseRules
  /// Seconds for which a list that was fetched counts as new.
  public var freshSeconds: Int64
  /// By entity type.
  public var entities: [String: EntityRoutes]

  /// `GET` that says who the token belongs to.
  public struct AccountRoute: Equatable, Sendable {
    /// What is asked.
    public var call: RouteCall
    /// Where the account's id stands.
    public var id: JSONPlace
    /// Where the user's name stands.
    public var user: JSONPlace?
  }
}

/// How answers of an API look.
public struct ResponseRules: Equatable, Sendable {
  /// Where the record stands in an answer.
  public var record = JSONPlace.whole
  /// What has to be true in an answer that is no refusal, whatever its status says; nil where the status says all.
  public var ok: JSONPlace?
  /// Where a refusal says why, the first that is there.
  public var problem: [JSONPlace] = []
  /// Statuses that mean something else here than usual.
  public var meanings: [Int: Meaning] = [:]

  /// What a status may mean.
  public enum Meaning: String, CaseIterable, Sendable {
    /// Done; an earlier attempt has done it perhaps.
    case done
    /// What the path names is not there any more.
    case gone
    /// The record is wrong; a person has to look.
    case invalid
    /// Not now; no attempt is counted.
    case later
    /// The server failed at it; an attempt.
    case attempt
    /// The token is not valid.
    case credentials
  }
}

/// How the records of one entity go to an API and come from it.
public struct EntityRoutes: Equatable, Sendable {
  /// The fields that are sent and read, each with where it stands in a body. Nil: all that are not local, under their names.
  public var fields: [String: JSONPlace]?
  /// Where the server's id stands in a record.
  public var id = JSONPlace(member: "id")
  /// How a record is made; nil where devices make none.
  public var create: RouteCall?
  /// How a record is changed.
  public var update: RouteCall?
  /// How a record is deleted.
  public var delete: RouteCall?
  /// How a record is looked at; used to find out which of several parents is gone.
  public var get: RouteCall?
  /// What makes a repeated creation harmless.
  public var repeats: RepeatRule?
  /// Where records of this kind come from. An object in place of a list is the one record that there is, and needs no id.
  public var list: ListRoute?
  /// How the image of a record is sent.
  public var image: ImageRoute?
  /// What of this no document of the API says; shown to people.
  public var assumed: String?

  /// Whether a record goes to the API together with its image, in one request.
  var goesWithImage: Bool { image?.makesRecord == true }
}

/// What makes it harmless to send a creation again whose answer was lost.
public enum RepeatRule: Equatable, Sendable {
  /// The API knows an operation by the id in this header.
  case header(String)
  /// The records that are there are looked through before a creation is repeated.
  case lookUp(RouteCall, items: JSONPlace, match: [String])
  /// Nothing: the record may be there twice then.
  case mayDuplicate
}

/// A list of records that an API gives.
public enum ListRoute: Equatable, Sendable {
  /// A request of its own. `isComplete`: what is not in it is not there any more.
  case call(RouteCall, items: JSONPlace, paging: Paging, isComplete: Bool)
  /// Within each record of another list.
  case within(String, items: JSONPlace)
}

/// How a list goes on.
public enum Paging: Equatable, Sendable {
  /// It is whole.
  case none
  /// By the number of the page, from `first` on, `count` records each.
  case number(parameter: String, first: Int64, size: String?, count: Int64)
  /// By how many records are passed over, `count` records each.
  case offset(parameter: String, size: String?, count: Int64)
  /// By what an answer names: an address, or a text for a parameter.
  case next(JSONPlace, parameter: String?)
}

/// How an image is sent.
public enum ImageRoute: Equatable, Sendable {
  /// As a form of several parts (RFC 7578): the image under `file`, the fields of the record beside it. The answer has the
  /// id of the record, which this request makes.
  case multipart(RouteCall, file: String)
  /// To an address that the API gives, which is confirmed then.
  case presigned(PresignedRoute)
  /// By tus 1.0; the metadata are fields of the record under the names that the API has for them.
  case tus(PathTemplate, metadata: [String: String])

  /// Whether the request that sends the image makes the record.
  var makesRecord: Bool {
    if case .multipart = self { return true }
    return false
  }
}

/// An upload in three steps: an address is asked for, the image is put there, and the API is told.
public struct PresignedRoute: Equatable, Sendable {
  /// Asks for the address; the body has `contentType`, `fileName` and `byteCount` under the names of `body`.
  public var address: RouteCall
  /// Names of the API for what is said of the image.
  public var body: [String: JSONPlace]
  /// Where the address stands in the answer.
  public var url: JSONPlace
  /// Where the headers stand that go with the image; nil for none.
  public var headers: JSONPlace?
  /// Where the key of the image stands.
  public var key: JSONPlace?
  /// Tells the API that the image is there; nil where nobody wants to know.
  public var confirm: RouteCall?
  /// Where the key stands in the body of the confirmation.
  public var confirmKey: JSONPlace?
}
