import CipherSQL
import FileServer
import HTTPServer
import Platform
import PostgresStorage
import SQLCipherStorage
import ServerStorage
import SyncModel

/// The routes by which users get and remove all data of their account.
struct AccountService: Sendable {
  let records: SyncService
  let directory: any AccountDirectory
  let deletions: AccountDeletions

  static let exportPattern = "/v1/account/export"

  /// All routes.
  var routes: [Route<Member>] {
    [
      Route("DELETE", "/v1/account", .authenticated { try await self.delete($0) }, records.dialect),
      Route("POST", Self.exportPattern, .authenticated { try await self.export($0) }, records.dialect),
    ]
  }

  /// The routes that an administrator may use, who neither pushes nor pulls: the account, and the data of its export.
  static let patternsOfAdmins: Set<String> = [
    "/v1/account", exportPattern, FileService.contentPattern, FileService.downloadAddressPattern,
  ]

  /// `DELETE /v1/account`: begins the deletion. The data are removed afterwards, also if the client disconnects.
  private func delete(_ call: RouteCall<Member>) async throws -> Response {
    let work = startTask { [deletions] in try await deletions.begin(call.caller.account.name, by: call.caller).contents
    }
    let contents: AccountContents
    do {
      contents = try await work.value
    } catch let error as ServerError where error.code == .otherUsers {
      throw HTTPProblem.otherUsers
    }
    deletions.wake()
    return .json(
      AccountDeleted(
        rows: Int64(contents.rows), files: Int64(contents.files), responses: Int64(contents.responses)
      ).wire)
  }

  /// `POST /v1/account/export`: returns a page of the records that the user sees. The first page begins the export.
  private func export(_ call: RouteCall<Member>) async throws -> Response {
    let request = try call.body(as: AccountExportRequest.self)
    let member = call.caller
    if request.cursor == nil {
      try await offload { [directory] in try directory.note(.exported(member.account), by: member) }
    }
    let page = ChangesRequest(
      viewer: records.viewer(member), cursor: request.cursor,
      limit: min(ChangesPage.greatestLimit, records.limits.pageSize))
    let (export, changes, _) = try await records.page(page, of: member.account)
    return .json(try export.json(with: changes))
  }
}

extension HTTPProblem {
  fileprivate static let otherUsers = HTTPProblem(
    403, "The account has other users", "only a token with the role admin, or the only user, can delete the account")
}

/// The data of an account for an export by the operator, also while servers run. Nothing of the account is changed.
public final class AccountExportSource: Sendable {
  private let account: AccountName
  private let environment: Environment
  private let read: @Sendable (ChangesRequest, Int64) async throws -> ChangesRequest.Page
  private let disk: DiskFileStorage?
  private let objects: ObjectFiles?
  private let end: @Sendable () -> Void

  /// Opens the data.
  /// - Parameters:
  ///   - name: the account.
  ///   - shipped: the schemas of the program.
  ///   - objectStore: the store of the servers; `nil` without one.
  /// - Throws: ``ServerError`` with `noSuchAccount`, with `deleted` for an account that is being deleted, with `schemas` if a server of
  ///   this program has not opened the account yet.
  public init(
    _ name: String, of source: FieldVaultServer.Source, directory: any AccountDirectory, shipped: [Schema],
    objectStore: ObjectStore?
  ) throws {
    if try directory.deletions().contains(where: { $0.name == name }) { throw ServerError.isBeingDeleted(name) }
    guard let account = try directory.accounts().first(where: { $0.name == name }) else {
      throw ServerError.noSuchAccount(name)
    }
    let schemas = try directory.schemas(adding: [], shipped: shipped)
    environment = source.environment
    let rows: any ObjectDatabase
    let place: @Sendable (AccountName) -> String
    switch source {
    case .folder(let folder):
      let records = try RecordsOfAccount(account, in: folder, schemas)
      let disk = DiskFileStorage(in: folder)
      (self.disk, rows) = (disk, EmbeddedObjects(disk))
      read = { request, now in try await records.read { try request.read($0, at: now) } }
      place = { "\(folder.path)/accounts/\($0.folder)" }
      end = {
        disk.close()
        records.close()
      }
    case .database(let database, let scratch):
      let storage = try PostgresStorage(database, schemas: schemas)
      (disk, rows) = (nil, PostgresObjects(database))
      read = { request, now in
        try await storage.read(account) { try request.read($0, at: now) }
      }
      place = { _ in scratch }
      end = { storage.close() }
    }
    self.account = account
    objects = objectStore.map {
      ObjectFiles(store: $0, database: rows, log: .silent, environment: source.environment, scratch: place)
    }
    try directory.note(.exported(account))
  }

  /// Returns a page of all records of the account.
  public func page(after cursor: String?) async throws -> AccountExportPage {
    let request = ChangesRequest(viewer: Viewer(userId: 0), cursor: cursor, limit: ChangesPage.greatestLimit)
    var (page, records, _) = try await read(request, environment.now)
    page.page.changes = try records.map { try $0.complete() }
    return page
  }

  /// Writes the content of a file to a new file, decrypted if the records have its key.
  /// - Returns: `false` if the server does not have the file, or the key does not open it.
  public func copy(_ file: AccountExport.File, to path: String) async throws -> Bool {
    let name = ContentName(content: file.contentUuid, variant: file.isThumbnail ? .thumbnail : .full)
    let key = file.key.flatMap { Base64.bytes($0.utf8) } ?? []
    if try await disk?.copyContent(account, name, key: key, to: path) == true { return true }
    return try await objects?.copyContent(account, name, key: key, to: path) ?? false
  }

  /// Closes the data.
  public func close() { end() }
}
