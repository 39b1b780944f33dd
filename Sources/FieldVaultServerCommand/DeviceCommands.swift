import CommandLineKit
import Platform
import ServerStorage

enum DeviceListCommand {
  static func run(_ context: CommandContext) throws {
    let (devices, sequences) = try context.withDirectory(isCreating: false) { directory in
      let devices = try directory.devices(of: context.arguments.value("ACCOUNT"))
      var sequences: [AccountName: Int64] = [:]
      for account in Set(devices.map(\.account)) {
        do {
          sequences[account] = try directory.lastSequence(of: account)
        } catch let error as ServerError where error.code == .damaged {
          // The devices are in another database, and are shown without their lag.
          context.line("\(account.name): \(error)")
        }
      }
      return (devices, sequences)
    }
    let lags = devices.map { device in sequences[device.account].flatMap { device.lag(behind: $0) } }
    guard context.isJSON else { return try writeTable(Array(zip(devices, lags)), context) }
    try context.writeJSON { json in
      json.beginArray()
      for (device, lag) in zip(devices, lags) {
        json.beginObject()
        json.member("id", device.id)
        json.member("account", device.account.name)
        json.member("user", device.user)
        json.member("token", Int(device.tokenId))
        json.member("version", device.version)
        json.member("firstContact", TimestampText.text(device.firstSeenAt))
        json.member("lastContact", TimestampText.text(device.lastSeenAt))
        json.member("changesBehind", lag.map { Int($0) })
        json.member("revokedAt", device.revokedAt.map(TimestampText.text))
        json.member("toldAt", device.toldAt.map(TimestampText.text))
        json.endObject()
      }
      json.endArray()
    }
  }

  private static func writeTable(_ devices: [(ListedDevice, Int64?)], _ context: CommandContext) throws {
    if devices.isEmpty { return context.note("no devices") }
    var table = TextTable(
      ["id", "account", "user", "token", "version", "last contact", "behind", "revoked", "told"])
    for (device, lag) in devices {
      table.add([
        device.id, device.account.name, device.user ?? "", String(device.tokenId), device.version ?? "",
        TimestampText.text(device.lastSeenAt), lag.map(String.init) ?? "",
        device.revokedAt.map(TimestampText.text) ?? "", device.toldAt.map(TimestampText.text) ?? "",
      ])
    }
    try context.output.write(table.text(for: context.output.terminal))
  }
}

enum DeviceRevokeCommand {
  static func run(_ context: CommandContext) throws {
    let id = try context.arguments.required("ID")
    let isNew = try context.withDirectory(isCreating: false) { try $0.revokeDevice(id) }
    guard context.isJSON else {
      return context.note(isNew ? "revoked the device" : "the device was already revoked")
    }
    try context.writeJSON { json in
      json.beginObject()
      json.member("revoked", isNew ? 1 : 0)
      json.endObject()
    }
  }
}
