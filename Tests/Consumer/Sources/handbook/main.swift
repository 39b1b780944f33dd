import FieldVault
import RestorationModel

// The examples of the handbook: adds a reading with a photo, reads the photo, and syncs with a server that does not respond.
let arguments = CommandLine.arguments
let passphrase = try SecretSource.file(path: arguments[2]).readPassphrase()
let vault = try Vault.open(at: arguments[1], with: .passphrase(passphrase), creating: [RestorationSchema.schema])
try readPhoto()
try await syncOnce(try makeWorker(for: vault, server: "http://127.0.0.1:9", token: "token"))
try await syncOnce(try makeWorker(for: vault) { _ in nil })

// The synchronous functions of a vault are not available to asynchronous code.
func readPhoto() throws {
  try vault.database.write { db in _ = try db.insert(Project(title: "14 Elm Street")) }
  try addReading(with: arguments[3], to: vault)
  let photo = try vault.database.read { db in try Photo.all.fetchFirst(db) }
  if let photo { print("\(try beginning(of: photo.uuid, in: vault).count) bytes of a photo") }
  try decide(vault)
}
