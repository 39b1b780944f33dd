import Foundation
import ServerStorage
import SyncModel
import TestSupport
import Testing

/// Checks the contacts of devices in a new directory, on any engine.
/// - Parameter clock: the clock of the directory, which stands still.
package func checkDevices(of directory: any AccountDirectory, _ clock: TestClock) throws {
  let start = clock.now
  let token = try directory.addUser("ada", account: "water", role: .device, expires: nil).token
  _ = try directory.addUser("bob", account: "storm", role: .device, expires: nil)
  let ada = try #require(try directory.member(token: token))
  let storm = try #require(try directory.accounts().first { $0.name == "storm" })
  func key(_ id: String, _ account: AccountName? = nil) -> DeviceContact.Key {
    DeviceContact.Key(account ?? ada.account, id)
  }
  func contact(_ seconds: Int64, _ version: String? = nil, at position: Int64? = nil, isRefused: Bool = false)
    -> DeviceContact
  {
    DeviceContact(
      tokenId: ada.tokenId, time: start + seconds * 1_000, version: version, position: position, isRefused: isRefused)
  }
  #expect(try directory.devices(of: nil) == [])
  #expect(throws: ServerError.self) { try directory.devices(of: "fire") }
  try directory.note([:])
  try directory.note([
    key("tablet"): contact(5, "0.3.0", at: 7), key("phone"): contact(6), key("tablet", storm): contact(1),
  ])
  // Neither time nor facts step back.
  try directory.note([key("tablet"): contact(4)])
  try directory.note([key("phone"): contact(8, "0.4.0", at: 0)])
  let gone = AccountName(name: "gone", folder: String(repeating: "0", count: 32))
  try directory.note([key("tablet", gone): contact(9)])
  let devices = try directory.devices(of: "water")
  #expect(devices.map(\.id) == ["phone", "tablet"])
  #expect(devices.map(\.lastSeenAt) == [start + 8_000, start + 5_000])
  #expect(devices.map(\.firstSeenAt) == [start + 6_000, start + 5_000])
  #expect(devices.map(\.version) == ["0.4.0", "0.3.0"] && devices.map(\.position) == [0, 7])
  #expect(devices.allSatisfy { $0.user == "ada" && $0.account == ada.account && $0.tokenId == ada.tokenId })
  #expect(try directory.devices(of: nil).map(\.account.name) == ["storm", "water", "water"])
  #expect(try directory.lastSequence(of: ada.account) == 0)

  // A device is revoked in all accounts that know it, and in no other one.
  #expect(throws: ServerError.self) { try directory.revokeDevice("laptop") }
  #expect(try directory.member(token: token)?.revokedDevices == [])
  #expect(try directory.revokeDevice("tablet"))
  #expect(try !directory.revokeDevice("tablet"))
  #expect(try directory.member(token: token)?.revokedDevices == ["tablet"])
  #expect(try directory.devices(of: nil).filter { $0.revokedAt == start }.map(\.id) == ["tablet", "tablet"])
  #expect(try directory.auditLog(since: nil, atMost: 9).filter { $0.action == "device revoked" }.count == 1)
  try directory.note([key("tablet"): contact(20, isRefused: true)])
  try directory.note([key("tablet"): contact(30, isRefused: true)])
  let told = try directory.devices(of: "water").map(\.toldAt)
  #expect(told == [start + 20_000, nil], "the first time stays")

  // The number of devices is bounded. Revoked ones stay revoked.
  var many: [DeviceContact.Key: DeviceContact] = [:]
  for number in 0..<DeviceContact.most { many[key("d\(number)")] = contact(100 + Int64(number)) }
  try directory.note(many)
  let all = try directory.devices(of: "water")
  #expect(all.count == DeviceContact.most + 1 && all.last?.id == "tablet")
  #expect(!all.contains { $0.id == "phone" })

  // A deleted account leaves no device.
  _ = try directory.beginDeletion(of: "water", by: nil)
  try directory.note([key("phone"): contact(7)])
  #expect(try directory.devices(of: nil).map(\.account.name) == ["storm"])
  let log = try directory.auditLog(since: nil, atMost: 9)
  #expect(!log.contains { $0.user == "ada" || $0.details.contains("tablet") })
}
