import SyncModel
import WebTransport

/// How an upload to an address that the server names has ended.
public struct PresignedResult: Sendable {
  /// Nil when the server has all of it.
  public var problem: UploadProblem?
  /// How the server calls it; nil where it has had it before, or does not say.
  public var key: String?
  /// Where the file is, without what made the address valid; nil where nothing was sent.
  public var place: String?
  /// How many bytes were sent and taken.
  public var offset: Int64 = 0
  /// What the server said last, in JSON: to the confirmation or, where there is none, to the question for an address.
  public var answer: SyncValue?
}

/// Uploads a file to an address that the server names for it: asks for one, sends the file there without the token, and
/// tells the server. What an address looks like, and who is behind it, is the server's business.
public struct PresignedUpload: Sendable {
  let transport: HTTPTransport
  let api: PresignedAPI

  /// Uploads over an API of the server of a transport.
  public init(transport: HTTPTransport, api: PresignedAPI) { (self.transport, self.api) = (transport, api) }

  /// Uploads a file; an earlier attempt that had sent all of it is found.
  /// - Parameters:
  ///   - key: what was remembered last; nil for nothing.
  ///   - remember: stores the server's name for the upload, so that it is there after a crash. Nothing is sent before this
  ///     has returned. Called only where the API confirms.
  ///   - progress: is told now and then how much was sent.
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
          // Anew each time: a refusal may be because the file is not what it was.
          let found = try await measure(source)
          facts = found
          let (event, answer) = try await ask(found)
          result.answer = answer
          step = plan.next(after: event)
        case .put(let address):
          guard let facts else { throw .unexpected }
          result.place = String(address.url.prefix { $0 != "?" })
          step = plan.next(after: try await put(source, facts, address, progress))
        case .confirm(let key):
          let (event, answer) = try await confirm(key, facts, source)
          result.answer = answer ?? result.answer
          step = plan.next(after: event)
        }
      } catch {
        result.problem = error
        return result
      }
    }
  }
}
