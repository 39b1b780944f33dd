import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The routes of files, over any storage, as `SyncModel/FileEndpoints.md` specifies.
struct FileService: Sendable {
  let storage: any FileStorage
  /// The contents of these that records of an account reference.
  let inUse: @Sendable (AccountName, [String]) async throws -> Set<String>
  /// The data of an account's records about a content.
  var claims: @Sendable (AccountName, String) async throws -> [ContentClaim] = { _, _ in [] }
  let limits: ServerLimits
  let sessions: UploadSessions
  let log: RequestLog
  /// Where contents are kept beside the server's own disk; nil for nowhere.
  var objects: ObjectFiles?
  /// The prefix of upload addresses: empty, or the public address of the server.
  var publicURL = ""

  static let uploadPattern = "/v1/files/uploads/{upload}"
  static let contentPattern = "/v1/files/{content}/{variant}"

  /// All routes, in the order in which they are described.
  var routes: [Route] { objects.map { routes(of: $0) } ?? tusRoutes }

  /// Uploads come first: their path looks like that of a content.
  private var tusRoutes: [Route] {
    [
      Route("OPTIONS", "/v1/files", .open { Tus.capabilities(self.limits) }, .tus),
      Route("POST", "/v1/files", .upload { try await self.create($0) }, .tus),
      Route("OPTIONS", Self.uploadPattern, .open { Tus.capabilities(self.limits) }, .tus),
      Route("HEAD", Self.uploadPattern, .member { try await self.state($0) }, .tus),
      Route("PATCH", Self.uploadPattern, .upload { try await self.append($0) }, .tus),
      Route("DELETE", Self.uploadPattern, .member { try await self.terminate($0) }, .tus),
      Route("POST", "/v1/files/missing", .member { try await self.missing($0) }, .fileQuestion),
      Route("POST", "/v1/files/digests", .member { try await self.digests($0) }, .fileQuestion),
      Route("GET", Self.contentPattern, .member { try await self.content($0) }, .file),
      Route("HEAD", Self.contentPattern, .member { try await self.content($0) }, .file),
    ]
  }

  var now: Int64 { Date.nowInMilliseconds().milliseconds }
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
    409, "The content is there already", "nothing is left to send", type: "urn:fieldvault:content-exists")
  static let contentMismatch = HTTPProblem(
    422, "The bytes are another content", "the record of the content names another digest; nothing was stored",
    type: "urn:fieldvault:content-mismatch", field: "content")
  static let noSuchUpload = HTTPProblem(404, "No such upload", "begin a new one with POST /v1/files")
  static let uploadExpired = HTTPProblem(
    410, "The upload has expired", "begin a new one with POST /v1/files", type: "urn:fieldvault:upload-expired")
  static let quotaExceeded = HTTPProblem(
    507, "The user's files would take too much", "remove files that are not needed, or ask for more room",
    type: "urn:fieldvault:quota-exceeded")
  static let diskFull = HTTPProblem(507, "No room", "the disk of the server is full", retryAfter: 300)
  static let noSuchContent = HTTPProblem(404, "No such content", "it was never sent completely, or is gone")

  static func offsetMismatch(_ offset: Int64) -> HTTPProblem {
    var problem = HTTPProblem(
      409, "The offset is another", "the upload goes on at byte \(offset)", type: "urn:fieldvault:offset-mismatch",
      field: "Upload-Offset")
    problem.headers["Upload-Offset"] = String(offset)
    return problem
  }
}
