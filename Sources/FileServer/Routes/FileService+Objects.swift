import HTTPServer
import Platform
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Files in an object store: the server returns addresses, and checks whether files have arrived there.
extension FileService {
  /// The routes of a server that has an object store, in place of those of tus.
  func routes(of objects: ObjectFiles) -> [Route<Member>] {
    [
      Route("OPTIONS", "/v1/files", .open { self.presignedCapabilities() }, dialects.content),
      Route("POST", "/v1/files/missing", .authenticated { try await self.missing($0) }, dialects.question),
      Route("POST", "/v1/files/digests", .authenticated { try await self.digests($0) }, dialects.question),
      Route(
        "POST", Self.contentPattern + "/address", .authenticated { try await self.address($0, objects) },
        dialects.question),
      Route(
        "POST", Self.contentPattern + "/confirm", .authenticated { try await self.confirm($0, objects) },
        dialects.question),
      Route(
        "POST", Self.downloadAddressPattern,
        .authenticated { try await self.downloadAddress($0, objects) },
        dialects.question),
      Route("GET", Self.contentPattern, .authenticated { try await self.content($0) }, dialects.content),
      Route("HEAD", Self.contentPattern, .authenticated { try await self.content($0) }, dialects.content),
    ]
  }

  private func presignedCapabilities() -> Response {
    .empty(
      204,
      [(Self.wayHeader, "presigned"), ("Fieldvault-Max-Size", String(min(limits.fileBytes, Self.greatestObject)))])
  }

  /// The header in which a server names its upload protocol.
  package static let wayHeader = "Fieldvault-Uploads"
  /// The largest object that one request can upload to an object store, in bytes.
  package static let greatestObject: Int64 = 5 << 30

  /// `POST /v1/files/{content}/{variant}/address`: returns the address for an upload.
  private func address(_ call: RouteCall<Member>, _ objects: ObjectFiles) async throws -> Response {
    let name = try name(call)
    let request = try call.body(as: FileAddressRequest.self)
    let limit = min(limits.fileBytes, Self.greatestObject)
    guard request.byteCount <= limit else {
      throw HTTPProblem(413, "The file is too large", "a file may have at most \(limit) bytes", field: "bytes")
    }
    guard let digest = Data(base64Encoded: request.sha256), digest.count == 32 else {
      throw HTTPProblem.invalid("sha256 must be a SHA-256 digest in base64", field: "sha256")
    }
    guard ContentTypes.isType(request.contentType) else {
      throw HTTPProblem.invalid("contentType must be a lowercase media type without parameters", field: "contentType")
    }
    guard limits.contentTypes.takes(request.contentType) else { throw HTTPProblem.typeNotTaken(limits.contentTypes) }
    let account = call.caller.account
    try await refuseHidden(name.content, call.caller)
    // A content that another member sent before its record came is compared now.
    let claims = try await claims(account, name.content)
    try await storage.prove(account, name, claims)
    try await refusing { try await objects.prove(account, name, claims) }
    let isProvable = claims.contains { $0.canProve(name.variant) }
    if try await storage.content(account, name) != nil {
      guard isProvable, try await storage.digest(account, name)?.contentDigest == nil else {
        throw HTTPProblem.contentExists
      }
    }
    let new = ObjectFiles.New(
      userId: call.caller.userId, name: name, byteCount: request.byteCount, sha256: digest.base64EncodedString(),
      contentType: request.contentType, isProvable: isProvable)
    let address = try await refusing {
      try await objects.begin(account, new, quota: limits.quotaBytes, expiry: expiry)
    }
    return .json(address.wire)
  }

  /// `POST /v1/files/{content}/{variant}/confirm`: checks that a file has arrived, and makes it visible to other
  /// devices.
  private func confirm(_ call: RouteCall<Member>, _ objects: ObjectFiles) async throws -> Response {
    let name = try name(call)
    let id = try call.body(as: FileConfirmation.self).upload
    let account = call.caller.account
    try await refuseHidden(name.content, call.caller)
    let claims = try await claims(account, name.content)
    try await refusing { try await objects.confirm(account, name, by: call.caller.userId, id, at: now, claims: claims) }
    return .json(FileConfirmed(content: "/v1/files/\(name.content)/\(name.variant.rawValue)").wire)
  }

  /// `POST /v1/files/{content}/{variant}/download-address`: returns the address for a download.
  private func downloadAddress(_ call: RouteCall<Member>, _ objects: ObjectFiles) async throws -> Response {
    let name = try name(call)
    let account = call.caller.account
    guard try await hidden(call.caller, [name.content]).isEmpty else { throw HTTPProblem.noSuchContent }
    let address = try await refusing { try await objects.addressToFetch(account, name) }
    if let address { return .json(address.wire) }
    guard try await storage.content(account, name) != nil else { throw HTTPProblem.noSuchContent }
    // From before there was an object store; the device asks for it here, with its token.
    return .json(
      FileAddress(
        url: "/v1/files/\(name.content)/\(name.variant.rawValue)", method: "GET", headers: [:],
        expiresAt: now + Int64(objects.store.addressSeconds) * 1_000
      ).wire)
  }

  // MARK: Parts

  private func name(_ call: RouteCall<Member>) throws(HTTPProblem) -> ContentName {
    guard let name = ContentName(text: "\(call.variables["content"] ?? "")/\(call.variables["variant"] ?? "")") else {
      throw .noSuchContent
    }
    return name
  }
}

extension HTTPProblem {
  static func typeNotTaken(_ types: ContentTypes) -> HTTPProblem {
    HTTPProblem(
      415, "Files of this type are not accepted",
      "contentType must be one of \(types.patterns.joined(separator: ", "))",
      type: "urn:fieldvault:content-type", field: "contentType")
  }

  static func objectMismatch(_ member: String) -> HTTPProblem {
    HTTPProblem(
      409, "The object does not match the request",
      "\(member) of the object differs from the announced value; request a new address "
        + "and send the file again", type: "urn:fieldvault:object-mismatch", field: member)
  }

  static let notSent = HTTPProblem(
    409, "The object is missing", "the object store lacks the file; send it to the address, or request a new one",
    type: "urn:fieldvault:not-sent")
  static let storeNotReached = HTTPProblem(
    503, "The object store cannot be reached", "no data is lost; try again later",
    type: "urn:fieldvault:store-not-reached", retryAfter: 30)
  static let inObjectStore = HTTPProblem(
    409, "The content is in an object store", "POST /v1/files/UUID/VARIANT/download-address returns its address",
    type: "urn:fieldvault:in-object-store")
}
