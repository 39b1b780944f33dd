import Foundation
import TestSupport
import Testing

@testable import CommandLineKit

@Suite("Service manager")
struct ServiceManagerTests {
  /// The addresses of a socket in a folder, and of an abstract one.
  private func addresses(_ folder: TemporaryFolder) -> [String] {
    #if os(Linux)
      [folder.file("notify"), "@fieldvault-\(UUID().uuidString)"]
    #else
      [folder.file("notify")]
    #endif
  }

  @Test("A service manager receives each state as one datagram, at a path and at an abstract address")
  func states() throws {
    let folder = try TemporaryFolder()
    for address in addresses(folder) {
      let socket = try NotificationSocket(at: address)
      let manager = try #require(ServiceManager(address: address))
      try manager.notify(.ready("listening on http://127.0.0.1:8787"))
      try manager.notify(.reloading)
      try manager.notify(.stopping)
      let messages = socket.received()
      try #require(messages.count == 3, "\(address): \(messages)")
      #expect(messages[0] == "READY=1\nSTATUS=listening on http://127.0.0.1:8787\n")
      #expect(messages[1].wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=[0-9]+\n/) != nil, "\(messages[1])")
      #expect(messages[2] == "STOPPING=1\n")
    }
  }

  @Test("A line break in a status does not begin another variable")
  func lineBreaks() {
    #expect(ServiceManager.text(of: .ready("a\nSTOPPING=1\r\nb")) == "READY=1\nSTATUS=a STOPPING=1 b\n")
  }

  @Test("Without NOTIFY_SOCKET there is no service manager")
  func missing() {
    #expect(ServiceManager(address: nil) == nil && ServiceManager(address: "") == nil)
  }

  @Test(
    "A socket that cannot be reached is named with the reason",
    arguments: [
      ("/nowhere/notify", ENOENT), ("relative", EAFNOSUPPORT), ("vsock:2:1", EAFNOSUPPORT),
      ("/" + String(repeating: "a", count: 108), ENAMETOOLONG),
    ])
  func failures(address: String, number: Int32) throws {
    let manager = try #require(ServiceManager(address: address))
    let failure = #expect(throws: ServiceManager.Failure.self) { try manager.notify(.stopping) }
    let reason = String(cString: strerror(number))
    #expect(failure?.message == "cannot notify the service manager at \(address): \(reason)")
  }
}
