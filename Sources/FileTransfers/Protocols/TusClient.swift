import HTTPClient

/// The outcome of an upload.
public struct TusResult: Sendable {
  /// The reason why the upload ended early; `nil` if the server has the complete file.
  public var problem: UploadProblem?
  /// The address of the upload; `nil` if the server has had the file before, or has no upload.
  public var address: String?
  /// The number of bytes that the server has, as far as it is known.
  public var offset: Int64
  /// The capabilities of the server, for the next file.
  public var server: TusServer?
  /// The part size of the link, for the next file.
  public var chunk: ChunkSize
}

/// Uploads to a server of tus 1.0, this project's or any other.
public struct TusClient: Sendable {
  let transport: HTTPTransport
  let endpoint: String

  /// Creates a client. Uploads are created at `endpoint`, such as `/v1/files`, below the address of the transport.
  public init(transport: HTTPTransport, endpoint: String) { (self.transport, self.endpoint) = (transport, endpoint) }

  /// Uploads a file, and resumes an earlier attempt.
  /// - Parameters:
  ///   - metadata: names and values that are sent when the upload is created.
  ///   - address: the address of an upload that was begun, or `nil`.
  ///   - remember: stores the address durably, or removes it. Nothing is sent to an address before
  ///     it returns.
  ///   - progress: called with the number of bytes that the server has. The next part is sent after it returns.
  public func upload(
    _ source: UploadSource, metadata: [(name: String, value: String)], address: String?, server: TusServer? = nil,
    chunk: ChunkSize = ChunkSize(), remember: @Sendable (String?) async throws -> Void,
    progress: @Sendable (Int64) async -> Void = { _ in }
  ) async -> TusResult {
    // The server has another address now, or returned a wrong one, so an upload there cannot be resumed.
    let begun = address.flatMap { transport.address.isOrigin(of: $0) ? $0 : nil }
    var plan = TusPlan(byteCount: source.byteCount, address: begun, server: server, chunk: chunk)
    var step = plan.first
    var known = begun
    func result(_ problem: UploadProblem?, _ address: String?) -> TusResult {
      TusResult(problem: problem, address: address, offset: plan.offset, server: plan.server, chunk: plan.chunk)
    }
    while true {
      switch step {
      case .done(let address): return result(nil, address)
      case .stop(let problem): return result(problem, known)
      case .remember(let address):
        do { try await remember(address) } catch { return result(.vaultFailed, known) }
        known = address
        step = plan.next(after: .remembered)
      case .ask, .create, .look, .send:
        do throws(UploadProblem) {
          step = plan.next(after: try await event(of: step, source, metadata, plan.server))
        } catch {
          return result(error, known)
        }
        await progress(plan.offset)
      }
    }
  }

  /// Cancels an upload, so that the server can remove it. A missing upload is not an error, because the server removes
  /// unfinished uploads after a time.
  public func terminate(_ address: String) async throws(UploadProblem) {
    guard transport.address.isOrigin(of: address) else { return }
    let response: HTTPResponse
    do throws(RequestProblem) {
      response = try await send("DELETE", address)
    } catch {
      switch error {
      case .failure(let failure): throw .transport(failure)
      case .problem(let problem): throw problem
      }
    }
    guard [200, 204, 403, 404, 410].contains(response.status) else { throw .refused(status: response.status) }
  }

  private func event(
    of step: TusPlan.Step, _ source: UploadSource, _ metadata: [(name: String, value: String)], _ server: TusServer?
  ) async throws(UploadProblem) -> TusPlan.Event {
    do throws(RequestProblem) {
      switch step {
      case .ask: return try await ask()
      case .create: return try await create(source.byteCount, metadata)
      case .look(let address): return try await look(address)
      case .send(let address, let offset, let bytes):
        return try await send(source, address, offset, bytes, checksum: server?.comparesSHA256 ?? false)
      case .remember, .done, .stop: throw .problem(.unexpected)
      }
    } catch {
      switch error {
      case .problem(let problem): throw problem
      case .failure(let failure): return .failed(failure)
      }
    }
  }
}
