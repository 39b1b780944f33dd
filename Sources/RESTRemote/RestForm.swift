import FileTransfers
import CipherSQL
import Platform
import VaultStore
import SyncModel
import HTTPClient

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An image and its record in one request: a form of several parts (RFC 7578), read while it is sent.
struct RestForm: Sendable {
  let client: RestClient
  let records: RestRecords
  let body: RestBody
  let call: RouteCall
  /// The name of the part that the image is.
  let part: String

  /// Sends the form, and stores the id that the API gives to the record.
  /// - Parameters:
  ///   - key: the stored name of an earlier attempt, or `nil`.
  ///   - remember: stores the name of this attempt durably.
  func send(
    _ file: UploadSource, key: String?, remember: @Sendable (String?) async throws -> Void
  ) async throws(UploadProblem) {
    let path = client.file.base + (try await RestFiles.path(call.path, body))
    if key != nil, let id = try await lookUp() { return try await keep(id) }
    // Names this attempt, like the id of an operation. If the record is created again later, that is another attempt.
    let name = key ?? UUIDText.text(.version4(random: client.environment.random))
    do { try await remember(name) } catch { throw .vaultFailed }
    let boundary = "fieldvault-" + NameUUID.text([body.uuid, "boundary"])
    let (head, tail) = try await parts(boundary)
    guard let length = file.byteCount else { throw .unexpected }
    var request = HTTPRequest(path)
    request.method = call.method
    request.isRepeatable = false
    request.headers = [("Content-Type", "multipart/form-data; boundary=\(boundary)"), ("Accept", "application/json")]
    if case .header(let header)? = body.routes.repeats { request.headers.append((header, name)) }
    request.upload = HTTPUpload(byteCount: Int64(head.count) + length + Int64(tail.count)) { offset, buffer in
      try Self.read(at: offset, buffer, head, file, length, tail)
    }
    let response: RestResponse
    do throws(RemoteFailure) {
      response = try await client.send(request)
    } catch {
      throw error.fileProblem
    }
    if response == .gone {
      guard try await openConflict() else { throw .refused(status: 404) }
      // It waits until the conflict is decided, and loses no attempt.
      throw .later(seconds: 1)
    }
    if let problem = response.fileProblem { throw problem }
    guard case .done(let record?) = response,
      let id = body.routes.id.value(in: record).flatMap({ RestRecords.id($0, of: body.table) })
    else {
      // The record may exist, but the response does not name its id.
      if let id = try await lookUp() { return try await keep(id) }
      throw .refused(status: 422)
    }
    try await keep(id)
  }

  private func lookUp() async throws(UploadProblem) -> ServerId? {
    do {
      return try await RestLookUp(client: client, records: records, body: body, routes: body.routes).find()?.id
    } catch let failure as RemoteFailure {
      throw failure.fileProblem
    } catch {
      throw .refused(status: 404)
    }
  }

  private func keep(_ id: ServerId) async throws(UploadProblem) {
    let (table, uuid) = (body.table, body.uuid)
    do {
      try await records.vault.sync { try $0.keep(id, of: table, uuid) }
    } catch {
      throw .vaultFailed
    }
  }

  /// Opens a conflict if the parent of the image is missing at the API.
  /// - Returns: `false` if all records of the path exist.
  private func openConflict() async throws(UploadProblem) -> Bool {
    let (table, uuid) = (body.table, body.uuid)
    do {
      guard let gone = try await RestDeletionCheck(client: client, records: records).parent(of: body, call.path) else {
        return false
      }
      try await records.vault.sync { transaction in
        try transaction.openImageConflict(of: table, uuid, field: gone.field)
        var counts = ApplyCounts()
        try transaction.changes.apply(gone.records, counts: &counts)
      }
      return true
    } catch let failure as RemoteFailure {
      throw failure.fileProblem
    } catch {
      throw .vaultFailed
    }
  }

  // MARK: The form

  private func parts(_ boundary: String) async throws(UploadProblem) -> (head: [UInt8], tail: [UInt8]) {
    let members: SyncObject
    do {
      members = try await body.members()
    } catch let failure as RemoteFailure {
      throw failure.fileProblem
    } catch {
      throw .refused(status: 422)
    }
    var head = ""
    for member in members.members {
      head += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quoted(member.name))\"\r\n\r\n"
      if case .text(let text) = member.value { head += text } else { head += member.value.json }
      head += "\r\n"
    }
    var (name, type) = ("image", "application/octet-stream")
    if case .text(let text)? = body.fields["fileName"] { name = text }
    if case .text(let text)? = body.fields["mimeType"] { type = text }
    head += """
      --\(boundary)\r\nContent-Disposition: form-data; name="\(Self.quoted(part))"; filename="\(Self.quoted(name))"\r\n\
      Content-Type: \(type.filter { $0.isASCII && !$0.isNewline })\r\n\r\n
      """
    return (Array(head.utf8), Array("\r\n--\(boundary)--\r\n".utf8))
  }

  /// A name between quotes, as browsers write it (WHATWG HTML, "multipart/form-data encoding algorithm").
  private static func quoted(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      switch scalar {
      case "\"": "%22"
      case "\r": "%0D"
      case "\n": "%0A"
      default: String(scalar)
      }
    }.joined()
  }

  private static func read(
    at offset: Int64, _ buffer: UnsafeMutableRawBufferPointer, _ head: [UInt8], _ file: UploadSource, _ length: Int64,
    _ tail: [UInt8]
  ) throws -> Int {
    func copy(_ bytes: [UInt8], from start: Int) -> Int {
      let count = min(buffer.count, bytes.count - start)
      bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
      return count
    }
    if offset < head.count { return copy(head, from: Int(offset)) }
    let inFile = offset - Int64(head.count)
    if inFile < length {
      let room = Int(min(Int64(buffer.count), length - inFile))
      return try file.read(inFile, UnsafeMutableRawBufferPointer(rebasing: buffer[0..<room]))
    }
    return copy(tail, from: Int(inFile - length))
  }
}

extension RemoteFailure {
  /// Returns the meaning of a failed request for an image.
  var fileProblem: UploadProblem {
    switch responseClass {
    case .later(let seconds): .later(seconds: seconds)
    case .pauseCredentials: .credentials
    case .cancelled: .transport(.cancelled)
    case .attempt: .serverFailed(status: 500)
    case .tooLarge: .tooLarge
    case .refused: .unreadable
    default: .transport(.noConnection(detail: message))
    }
  }
}
