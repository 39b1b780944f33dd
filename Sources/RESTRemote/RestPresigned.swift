import FileTransfers
import VaultStore
import SyncModel
import HTTPClient

/// An image on its way to an address that the API gives.
struct RestPresigned: Sendable {
  let client: RestClient
  let body: RestBody
  let route: PresignedRoute

  func send(
    _ file: UploadSource, key: String?, remember: @Sendable (String?) async throws -> Void,
    progress: @escaping @Sendable (Int64) async -> Void
  ) async throws(UploadProblem) {
    var source = file
    if case .text(let type)? = body.fields["mimeType"] { source.contentType = type }
    let uploads = PresignedUpload(transport: client.transport, api: try await api())
    let result = await uploads.upload(
      source, key: key, remember: { key in try await remember(key) }, progress: progress)
    if let problem = result.problem { throw problem }
  }

  private func api() async throws(UploadProblem) -> PresignedAPI {
    var asked = SyncObject()
    for (name, place) in route.body {
      switch name {
      case "contentType": place.set("{contentType}", in: &asked)
      case "byteCount": place.set("{bytes}", in: &asked)
      default: if let text = body.fields["fileName"] { place.set(text, in: &asked) }
      }
    }
    let ask = PresignedAPI.Request(
      route.address.method, client.file.base + (try await RestFiles.path(route.address.path, body)),
      body: route.address.method == "GET" ? nil : .object(asked))
    var confirm: PresignedAPI.Request?
    if let call = route.confirm {
      var said = SyncObject()
      route.confirmKey?.set("{key}", in: &said)
      let path = client.file.base + (try await RestFiles.path(call.path, body))
      confirm = PresignedAPI.Request(call.method, path, body: .object(said))
    }
    var api = PresignedAPI(ask: ask, confirm: confirm)
    api.urlAt = route.url.names
    api.headersAt = route.headers?.names
    api.keyAt = route.key?.names
    return api
  }
}
