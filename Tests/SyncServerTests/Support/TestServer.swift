import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport

@testable import FileServer
@testable import SQLCipherStorage
@testable import HTTPServer
@testable import SyncServer

/// A server of this process on a free port, with users.
final class TestServer: Sendable {
  let folder: TemporaryFolder
  let server: FieldVaultServer
  let lines = Locked<[String]>([])

  init(
    in given: TemporaryFolder? = nil, identity: TLSIdentity? = nil,
    freeBytes: Locked<Int64>? = nil, objectStore: ObjectStore? = nil, environment: Environment = .system,
    logFormat: RequestLog.Format = .text, adminListen: String? = nil, listen: String = "127.0.0.1:0",
    slowRequest: Duration? = nil,
    _ change: (inout ServerLimits) -> Void = { _ in }
  ) throws {
    folder = try given ?? TemporaryFolder()
    var limits = ServerLimits()
    limits.requestBurst = 100_000
    change(&limits)
    var data = try ServerFolder(folder.path + "/data", isCreating: true)
    data.environment = environment
    let log = RequestLog(format: logFormat) { [lines] line in lines.withLock { $0.append(line) } }
    var settings = FieldVaultServer.Settings(
      folder: data, listen: listen, schemas: [RestorationSchema.schema], identity: identity, limits: limits,
      log: log)
    settings.objectStore = objectStore
    (settings.adminListen, settings.slowRequest, settings.version) = (adminListen, slowRequest, "1.2.3")
    if let freeBytes {
      settings.fileStorage = { folder, _ in DiskFileStorage(in: folder) { _ in freeBytes.withLock { $0 } } }
    }
    server = try FieldVaultServer(settings)
  }

  /// A client with a token of its own.
  func client(_ user: String, account: String = "water") throws -> TestClient {
    TestClient(url: server.url, token: try withDirectory { try $0.addUser(user, account: account).token })
  }

  func withDirectory<Result>(_ body: (ServerDirectory) throws -> Result) throws -> Result {
    let directory = try ServerDirectory(in: try ServerFolder(folder.path + "/data", isCreating: false))
    defer { directory.close() }
    return try body(directory)
  }
}
