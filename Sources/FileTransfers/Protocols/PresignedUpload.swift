import SyncModel
import HTTPClient

/// The outcome of an upload to an address that the server sends.
public struct PresignedResult: Sendable {
  /// The reason why the upload ended early; `nil` if the server has the complete file.
  public var problem: UploadProblem?
  /// The server's name of the upload; `nil` if the server has had the file before, or gives the upload no name.
  public var key: String?
  /// The address without its signature; `nil` if nothing was sent.
  public var place: String?
  /// The number of bytes that the store received.
  public var offset: Int64 = 0
  /// The last response of the server as JSON: to the confirmation, or otherwise to the request for an address.
  public var response: SyncValue?
}

/// Uploads a file to an address that the server names: requests the address, sends the file to it without the token,
/// and confirms the upload. The server chooses the address and its object store.
public struct PresignedUpload: Sendable {
  let transport: HTTPTransport
  let api: PresignedAPI

  /// Creates uploads over an API of the server of a transport.
  public init(transport: HTTPTransport, api: PresignedAPI) { (self.transport, self.api) = (transport, api) }

  /// Uploads a file, and finds an earlier attempt that sent all of it.
  /// - Parameters:
  ///   - key: the stored name of the upload, or `nil`.
  ///   - remember: stores the server's name of the upload durably. Nothing is sent before it returns. Called only if
  ///     the API has a confirmation.
  ///   - progress: called at intervals with the number of sent bytes.
  public func upload(
    _ source: UploadSource, key: String?, remember: @Sendable (String) async throws -> Void = { _ in },
    progress: @escaping @Sendable (Int64) async -> Void = { _ in }
  ) async -> PresignedResult {
    var plan = PresignedPlan(key: key, confirms: api.confirm != nil)
    var step = plan.first
    var result = PresignedResult()
    var facts: UploadDescription?
    while true {
      do throws(UploadProblem) {
        switch step {
        case .done(let key):
          result.key = key
          result.offset = source.byteCount ?? facts?.byteCount ?? result.offset
          return result
        case .stop(let problem): throw problem
        case .remember(let key):
          do { try await remember(key) } catch { throw .vaultFailed }
          step = plan.next(after: .remembered)
        case .ask:
          // Computed again each time, because the file may have changed since the refusal.
          let found = try await measure(source)
          facts = found
          let (event, response) = try await ask(found)
          result.response = response
          step = plan.next(after: event)
        case .put(let address):
          guard let facts else { throw .unexpected }
          result.place = String(address.url.prefix { $0 != "?" })
          step = plan.next(after: try await put(source, facts, address, progress))
        case .confirm(let key):
          let (event, response) = try await confirm(key, facts, source)
          result.response = response ?? result.response
          step = plan.next(after: event)
        }
      } catch {
        result.problem = error
        return result
      }
    }
  }
}
