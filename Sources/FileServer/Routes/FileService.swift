import CipherSQL
import HTTPServer
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The routes of files, over any storage, as `SyncModel/FileEndpoints.md` specifies.
package struct FileService: Sendable {
  let storage: any FileStorage
  /// Returns the contents among some that records of an account reference.
  let inUse: @Sendable (AccountName, [String]) async throws -> Set<String>
  /// Returns the claims of an account's records about a content.
  let claims: @Sendable (AccountName, String) async throws -> [ContentClaim]
  /// Returns the contents among some that a user must not learn of.
  let hidden: @Sendable (Member, [String]) async throws -> Set<String>
  let limits: FileLimits
  let sessions: UploadSessions
  let log: RequestLog
  /// The files in an object store; `nil` without one.
  let objects: ObjectFiles?
  /// The prefix of upload addresses: empty, or the public address of the server.
  let publicURL: String
  let dialects: FileDialects
  private let limiter: RateLimiter
  let environment: Environment

  package init(
    storage: any FileStorage, inUse: @escaping @Sendable (AccountName, [String]) async throws -> Set<String>,
    claims: @escaping @Sendable (AccountName, String) async throws -> [ContentClaim] = { _, _ in [] },
    hidden: @escaping @Sendable (Member, [String]) async throws -> Set<String> = { _, _ in [] },
    limits: FileLimits, sessions: UploadSessions, log: RequestLog, environment: Environment,
    objects: ObjectFiles? = nil, publicURL: String = ""
  ) {
    (self.storage, self.inUse, self.claims, self.limits) = (storage, inUse, claims, limits)
    (self.sessions, self.log, self.objects, self.publicURL) = (sessions, log, objects, publicURL)
    (self.environment, self.hidden) = (environment, hidden)
    limiter = RateLimiter(
      burst: limits.requestBurst, perSecond: limits.requestsPerSecond, clock: environment.clock)
    dialects = FileDialects(limiter)
  }

  /// Uses other rates from now on.
  package func change(_ limits: FileLimits) {
    limiter.change(burst: limits.requestBurst, perSecond: limits.requestsPerSecond)
  }

  static let uploadPattern = "/v1/files/uploads/{upload}"
  package static let contentPattern = "/v1/files/{content}/{variant}"
  package static let downloadAddressPattern = contentPattern + "/download-address"

  /// All routes, in the order in which they are described.
  package var routes: [Route<Member>] { objects.map { routes(of: $0) } ?? tusRoutes }

  /// The tus routes. Uploads come first, because their path looks like the path of a content.
  private var tusRoutes: [Route<Member>] {
    [
      Route("OPTIONS", "/v1/files", .open { Tus.capabilities(self.limits) }, dialects.tus),
      Route("POST", "/v1/files", .upload { try await self.create($0) }, dialects.tus),
      Route("OPTIONS", Self.uploadPattern, .open { Tus.capabilities(self.limits) }, dialects.tus),
      Route("HEAD", Self.uploadPattern, .authenticated { try await self.state($0) }, dialects.tus),
      Route("PATCH", Self.uploadPattern, .upload { try await self.append($0) }, dialects.tus),
      Route("DELETE", Self.uploadPattern, .authenticated { try await self.terminate($0) }, dialects.tus),
      Route("POST", "/v1/files/missing", .authenticated { try await self.missing($0) }, dialects.question),
      Route("POST", "/v1/files/digests", .authenticated { try await self.digests($0) }, dialects.question),
      Route("GET", Self.contentPattern, .authenticated { try await self.content($0) }, dialects.content),
      Route("HEAD", Self.contentPattern, .authenticated { try await self.content($0) }, dialects.content),
    ]
  }

  /// Refuses to take a content of records that the user does not see.
  func refuseHidden(_ content: String, _ member: Member) async throws {
    guard try await hidden(member, [content]).isEmpty else { throw HTTPProblem.contentOfOthers }
  }

  var now: Int64 { environment.now }
  var expiry: Int64 { now + Int64(limits.uploadSeconds) * 1_000 }

  /// Returns the response for a refusal of the storage.
  static func problem(_ error: any Error) -> HTTPProblem? {
    if let problem = error as? HTTPProblem { return problem }
    if let refusal = error as? ObjectFiles.Refusal {
      return switch refusal {
      case .notSent: .notSent
      case .mismatch(let member): .objectMismatch(member)
      case .notReached: .storeNotReached
      }
    }
    guard let refusal = error as? FileRefusal else { return nil }
    return switch refusal {
    case .exists: .contentExists
    case .busy: .uploadInUse
    case .gone: .noSuchUpload
    case .damaged: .uploadExpired
    case .mismatch: .contentMismatch
    case .overQuota: .quotaExceeded
    case .noSpace: .diskFull
    }
  }
}

extension HTTPProblem {
  static let contentExists = HTTPProblem(
    409, "The content already exists", "there is nothing to send", type: "urn:fieldvault:content-exists")
  static let contentMismatch = HTTPProblem(
    422, "The content does not match its record", "the record has another digest; the file was not stored",
    type: "urn:fieldvault:content-mismatch", field: "content")
  static let noSuchUpload = HTTPProblem(404, "No such upload", "start a new one with POST /v1/files")
  static let uploadExpired = HTTPProblem(
    410, "The upload has expired", "start a new one with POST /v1/files", type: "urn:fieldvault:upload-expired")
  static let quotaExceeded = HTTPProblem(
    507, "The quota is exceeded", "remove unneeded files, or ask for a larger quota",
    type: ServerProblem.quotaExceeded)
  static let diskFull = HTTPProblem(507, "No space left", "the disk of the server is full", retryAfter: 300)
  // Not 403, which would be about all files of the device.
  static let contentOfOthers = HTTPProblem(
    422, "Not a member of the project", "only members of the project can send this content",
    type: ServerProblem.notMember)
  static let noSuchContent = HTTPProblem(404, "No such content", "its upload was never completed, or it was removed")

  static func offsetMismatch(_ offset: Int64) -> HTTPProblem {
    var problem = HTTPProblem(
      409, "The offset does not match", "the upload continues at byte \(offset)",
      type: "urn:fieldvault:offset-mismatch", field: "Upload-Offset")
    problem.headers["Upload-Offset"] = String(offset)
    return problem
  }
}
