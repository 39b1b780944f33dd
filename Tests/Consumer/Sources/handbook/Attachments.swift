import FieldVault
import RestorationModel

func addReading(with path: String, to vault: Vault) throws {
  let photo = try vault.prepareAttachment(from: path)  // encrypted and on the disk, not yet acknowledged
  try vault.database.write { db in
    let log = try db.insert(AtmosphericLog(projectId: 1, date: .now, relativeHumidity: 61, temperature: 70))
    try photo.attach(to: "AtmosphericLog", log.uuid, in: db)
  }
}

func beginning(of uuid: UUID, in vault: Vault) throws -> [UInt8] {
  try vault.openAttachment(uuid).read(0..<4096)  // any range, without reading the rest
}
