import Foundation
import TestSupport
import Testing

@testable import HTTPServer
@testable import SyncServer

/// Clients that disconnect before their response is ready and leave received bytes unread.
@Suite struct LostClientTests {
  private func watch(_ client: TestClient, _ cursor: String) throws -> String {
    [
      "GET /v1/watch?cursor=\(cursor)&timeout=55 HTTP/1.1", "Host: x", "FieldVault-Protocol: 2",
      "Authorization: Bearer \(try #require(client.token))", "", "",
    ].joined(separator: "\r\n")
  }

  /// Its request is over long before the time for which it would have waited.
  private func isLetGo(_ server: TestServer) async throws {
    #expect(server.lines.withLock { !$0.contains { $0.contains("/v1/watch") } }, "it waits as long as the client does")
    try await server.waitForLog("GET /v1/watch ")
  }

  @Test("A client that disconnects after a second request is noticed") func whoHasSentAnotherRequestAlready()
    async throws
  {
    let server = try TestServer()
    let client = try server.client("ada")
    var gone: RawConnection? = try RawConnection(to: client.url)
    #expect(gone?.send(try watch(client, try await client.pull().cursor)) == true)
    // So much later that the library is not reading any more.
    try await Task.sleep(for: .milliseconds(2_500))
    #expect(gone?.send("GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n") == true)
    try await Task.sleep(for: .milliseconds(1_500))
    server.lines.withLock { lines in lines.removeAll { !$0.contains("/v1/watch") } }
    gone = nil
    try await isLetGo(server)
    await server.server.stop()
  }

  /// Before the end of the connection stands the one of TLS.
  @Test("A client that closes an encrypted connection in order is noticed") func whoEndsAnEncryptedConnectionInOrder()
    async throws
  {
    let folder = try TemporaryFolder()
    let (certificate, key) = (folder.path + "/cert.pem", folder.path + "/key.pem")
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl") else { return }
    let making = try openssl(
      "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out",
      certificate)
    making.process.waitUntilExit()
    let first = try TestServer(in: folder)
    let client = try first.client("ada")
    let cursor = try await client.pull().cursor
    await first.server.stop()

    let server = try TestServer(
      in: folder, identity: try TLSIdentity(certificateFile: certificate, keyFile: key))
    let address = server.server.url.dropFirst("https://".count)
    let (process, input) = try openssl("s_client", "-quiet", "-no_ign_eof", "-connect", String(address))
    try input.write(contentsOf: Data(try watch(client, cursor).utf8))
    try await Task.sleep(for: .milliseconds(3_500))
    #expect(process.isRunning)
    // At the end of its input it says goodbye and closes.
    try input.close()
    try await isLetGo(server)
    process.waitUntilExit()
    await server.server.stop()
  }

  private func openssl(_ arguments: String...) throws -> (process: Process, input: FileHandle) {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.arguments = arguments
    process.standardInput = pipe
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return (process, pipe.fileHandleForWriting)
  }
}
