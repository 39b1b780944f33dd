import FileTransfers
import CipherSQL
import VaultStore
import SealedFiles
import SyncModel
import HTTPClient

/// The images of a REST remote, sent according to its route file. Such an API processes images, so it receives the
/// decrypted content.
struct RestFiles: FileRemote {
  let client: RestClient
  let records: RestRecords

  var takesPlaintext: Bool { true }

  /// Sends an image for each record that has it. The small pictures are this device's own.
  func send(
    _ file: UploadSource, _ name: FileName, address: String?, link: FileServerState,
    remember: @Sendable (String?) async throws -> Void, progress: @escaping @Sendable (Int64) async -> Void
  ) async -> UploadResult {
    var link = link
    func result(_ problem: UploadProblem?) -> UploadResult {
      UploadResult(problem: problem, offset: 0, link: link)
    }
    guard name.variant == .full else { return result(nil) }
    do throws(UploadProblem) {
      for (table, record) in try await owners(of: name.contentUuid) {
        guard let routes = client.file.entities[table.entity.type], let image = routes.image else { continue }
        let body = RestBody(
          records: records, routes: routes, table: table, uuid: record.uuid, serverId: record.serverId,
          fields: record.state.fields)
        switch image {
        case .multipart(let call, let part):
          if record.serverId != nil { continue }
          let form = RestForm(client: client, records: records, body: body, call: call, part: part)
          try await form.send(file, key: address, remember: remember)
        case .presigned(let route):
          try await RestPresigned(client: client, body: body, route: route).send(
            file, key: address, remember: remember, progress: progress)
        case .tus(let path, let metadata):
          var values: [(name: String, value: String)] = []
          for (name, field) in metadata.sorted(by: { $0.key < $1.key }) {
            if case .text(let text)? = body.fields[field] { values.append((name, text)) }
          }
          let endpoint = client.file.base + (try await Self.path(path, body))
          let uploads = TusClient(transport: client.transport, endpoint: endpoint)
          let sent = await uploads.upload(
            file, metadata: values, address: address, server: link.server, chunk: link.chunk, remember: remember,
            progress: progress)
          link.server = sent.server
          link.chunk = sent.chunk
          if sent.problem != nil { return UploadResult(problem: sent.problem, offset: sent.offset, link: link) }
        }
      }
    } catch {
      return result(error)
    }
    return UploadResult(problem: nil, offset: file.byteCount ?? 0, link: link)
  }

  /// Returns no files, because route files describe uploads only.
  func fetch(
    _ name: FileName, into part: String, _ sealing: ContentSealing,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async throws(DownloadProblem) { throw .absent }

  /// Returns `nil`, because a REST remote does not return digests.
  func missing(among files: [FileName]) async throws(RemoteFailure) -> Set<FileName> { [] }

  static func path(_ template: PathTemplate, _ body: RestBody) async throws(UploadProblem) -> String {
    do {
      return try await body.path(template)
    } catch {
      // The parent has no id yet. The image is sent as soon as the parent is.
      throw .later(seconds: 5)
    }
  }

  /// The records that have a content and that the API has, or is to get with it.
  private func owners(of content: String) async throws(UploadProblem) -> [(RecordTable, StoredRecord)] {
    let catalog = records.catalog
    do throws(RemoteFailure) {
      return try await records.read { connection in
        var found: [(RecordTable, StoredRecord)] = []
        for type in catalog.entities.attachments.map(\.entity.type) {
          guard let table = catalog.tables[type] else { continue }
          try table.forEach(
            where: "record.contentUuid = \(content) AND record.isDeleted = 0 AND record.syncVersion > 0",
            in: connection
          ) { found.append((table, $0)) }
        }
        return found
      }
    } catch {
      throw error.responseClass == .cancelled ? .transport(.cancelled) : .vaultFailed
    }
  }
}

extension RestResponse {
  /// Returns the meaning of a response for an image; `nil` for success.
  var fileProblem: UploadProblem? {
    switch self {
    case .done: nil
    case .gone: .refused(status: 404)
    case .invalid(413, _): .tooLarge
    case .invalid(507, _): .noRoom
    case .invalid(let status, _): .refused(status: status)
    case .attempt(let status, _): .serverFailed(status: status)
    case .later(let seconds): .later(seconds: seconds)
    case .credentials: .credentials
    case .notThere(let failure): .transport(failure)
    }
  }
}
