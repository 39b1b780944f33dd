import Foundation
import TestSupport
import Testing

/// The devices of a server, through the command lines of a device and of an operator.
@Suite(.serialized) struct DeviceCommandTests {
  private let work: SyncWorkshop
  private var shop: Workshop { work.shop }

  init() throws { work = try SyncWorkshop() }

  private func server(_ words: String...) throws -> Ran { try work.operate(words) }

  /// Returns the devices after the server has stored its contacts.
  private func devices() throws -> [[String: Any]] {
    try work.stop()
    try work.start()
    let ran = try server("device", "list", "--json")
    return try JSONSerialization.jsonObject(with: Data(ran.output.utf8)) as? [[String: Any]] ?? []
  }

  @Test("An operator lists devices and revokes a lost one, which removes what the server has") func revoke() throws {
    let project = try work.put("a.vault", "Project", "title=Elm")
    try work.sync("a.vault")
    try work.sync("b.vault")
    let draft = try work.put("b.vault", "Project", "title=Draft")
    try shop.done("config", "set", "remove-when-revoked", "true", vault: "b.vault")
    let listed = try devices()
    #expect(listed.compactMap { $0["user"] as? String }.sorted() == ["ada", "bob"])
    #expect(listed.allSatisfy { $0["changesBehind"] as? Int == 0 && ($0["version"] as? String)?.isEmpty == false })
    let bob = try #require(listed.first { $0["user"] as? String == "bob" })
    let id = try #require(bob["id"] as? String)

    #expect(try server("device", "revoke", id).status == 0)
    let ran = try shop.run("sync", vault: "b.vault")
    #expect(ran.status == 11 && ran.errors.contains("has revoked this device"), "\(ran.errors)")
    #expect(ran.output.contains("Removed 1 because the device is revoked"), "\(ran.output)")
    #expect(try work.value("title", "Project", project, "b.vault") == nil)
    #expect(try work.value("title", "Project", draft, "b.vault") == "Draft")
    #expect(try shop.run("status", vault: "b.vault").output.contains("revoked"))
    try work.sync("a.vault")

    let told = try devices().first { $0["id"] as? String == id }
    #expect(told?["revokedAt"] is String && told?["toldAt"] is String)
    #expect(try server("audit", "list").output.contains("device revoked"))
  }

  @Test("A device beyond the quota is told so, and keeps its changes until there is room") func quota() throws {
    work.serveOptions = ["--device-quota", "1"]
    try work.stop()
    try work.start()
    _ = try work.put("a.vault", "Project", "title=Elm")
    try work.sync("a.vault")
    let project = try work.put("b.vault", "Project", "title=Oak")
    let refused = try shop.run("sync", vault: "b.vault")
    #expect(refused.status == 1 && refused.errors.contains("does not accept this device"), "\(refused.errors)")
    #expect(refused.errors.contains("limit of devices (1)") && !refused.errors.contains("remote set"))
    work.serveOptions = ["--device-quota", "2"]
    try work.stop()
    try work.start()
    try work.sync("b.vault")
    try work.sync("a.vault")
    #expect(try work.value("title", "Project", project, "a.vault") == "Oak")
  }

  @Test("Bad devices and accounts are refused") func badInput() throws {
    let none = try server("device", "list", "fire")
    #expect(none.status == 4 && none.errors.contains("account list"), "\(none.errors)")
    let unknown = try server("device", "revoke", "0190a5b2")
    #expect(unknown.status == 4 && unknown.errors.contains("device list"), "\(unknown.errors)")
    #expect(try server("device").status == 2)
    let value = try shop.run("config", "set", "remove-when-revoked", "perhaps", vault: "a.vault")
    #expect(value.status == 10 && value.errors.contains("true, false"), "\(value.errors)")
  }
}
