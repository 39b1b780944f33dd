import FieldVault

let passphrase = try SecretSource.file(path: "passphrase").readPassphrase()
let vault = try Vault.open(at: "damp.vault", with: .passphrase(passphrase), creating: [SchemaSchema.schema])
try vault.database.write { db in
  try db.insert(Reading(uuid: .version7(), place: "cellar", humidity: 71.5))
  try db.insert(Reading(uuid: .version7(), place: "attic", humidity: 48))
}
let damp = try vault.database.read { db in try Reading.where { $0.humidity > 60 }.fetch(db) }
for reading in damp { print("\(reading.place): \(reading.humidity) %") }
