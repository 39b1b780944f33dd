import CipherSQL
import HTTPServer
import PostgresStorage
import SQLCipherStorage
import ServerStorage
import SyncServer

/// Returns a running server whose users have tokens of an identity provider, with an account `water`.
/// - Parameter isPostgres: whether the data are in PostgreSQL.
package func signInServer(
  isPostgres: Bool, in folder: String, _ signIn: SignInSettings, schemas: [Schema], environment: Environment,
  limits: ServerLimits = ServerLimits(), log: @escaping @Sendable (String) -> Void
) throws -> (server: FieldVaultServer, directory: any AccountDirectory) {
  let source: FieldVaultServer.Source
  let directory: any AccountDirectory
  if isPostgres {
    let server = try SharedPostgres.server
    var settings = PostgresSettings(url: server.url(try server.makeDatabase()))
    settings.connections = 4
    let database = try PostgresDatabase(settings, environment: environment)
    (source, directory) = (.database(database, scratch: folder), PostgresDirectory(database))
  } else {
    var data = try ServerFolder(folder + "/data", isCreating: true)
    data.environment = environment
    (source, directory) = (.folder(data), try ServerDirectory(in: data))
  }
  _ = try directory.addUser("operator", account: "water", role: .device, expires: nil)
  var settings = FieldVaultServer.Settings(
    source, listen: "127.0.0.1:0", schemas: schemas, limits: limits, log: RequestLog { line in log(line) })
  settings.signIn = signIn
  return (try FieldVaultServer(settings), directory)
}
