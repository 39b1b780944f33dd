import Foundation
import SyncModel
import TestSupport
import Testing

@testable import HTTPServer
@testable import SyncServer

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

private let programs = (openssl: "/usr/bin/openssl", curl: "/usr/bin/curl")
private let hasPrograms = [programs.openssl, programs.curl].allSatisfy {
  FileManager.default.isExecutableFile(atPath: $0)
}

/// The program with a certificate, as clients that others wrote see it.
@Suite(.enabled(if: hasPrograms, "openssl and curl are not installed")) struct EncryptedServerTests {
  private let folder: TemporaryFolder
  private var certificate: String { folder.path + "/cert.pem" }
  private var key: String { folder.path + "/key.pem" }

  init() throws {
    folder = try TemporaryFolder()
    try certify("first.example")
  }

  /// Writes a new key and a certificate for 127.0.0.1 with a name.
  private func certify(_ name: String) throws {
    let made = try run(
      programs.openssl,
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext",
        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
      ])
    guard made.status == 0 else { throw Unexpected(made.output) }
  }

  private func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, output)
  }

  private func serve(certificate: String, key: String) throws -> RunningServer {
    try RunningServer(
      [
        "serve", "--data", folder.path + "/data", "--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key",
        key,
      ], in: folder)
  }

  /// The protocol and the certificate's name of a new connection; `nil` without a connection.
  private func connection(_ url: String, _ options: String...) throws -> (version: String, name: String)? {
    let address = String(url.dropFirst("https://".count))
    let arguments = ["s_client", "-connect", address, "-cipher", "DEFAULT:@SECLEVEL=0"] + options
    let output = try run(programs.openssl, arguments).output
    let lines = output.split(separator: "\n").map(String.init)
    guard let summary = lines.first(where: { $0.hasPrefix("New, TLSv") }), !summary.contains("NONE"),
      let subject = lines.first(where: { $0.hasPrefix("subject=") })
    else { return nil }
    let version = lines.first { $0.hasPrefix("    Protocol  : ") }.map { String($0.dropFirst(16)) } ?? summary
    return (version, subject)
  }

  @Test("The server uses TLS and exits with a message when the key cannot be used")
  func usesTLS() async throws {
    #expect(try await serve(certificate: certificate, key: folder.path + "/no").end() == 1)
    #expect(try await serve(certificate: key, key: key).end() == 1)
    let server = try serve(certificate: certificate, key: key)
    let url = try await server.url()
    #expect(url.hasPrefix("https://"))
    let response = try run(programs.curl, ["-s", "--cacert", certificate, url + "/v1/health"]).output
    #expect(try SyncValue(parsing: response)["service"] == "fieldvault")
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  @Test("Versions before TLS 1.2 are refused")
  func versions() async throws {
    let server = try serve(certificate: certificate, key: key)
    let url = try await server.url()
    for version in ["-tls1", "-tls1_1"] { #expect(try connection(url, version) == nil, "\(version)") }
    for version in ["-tls1_2", "-tls1_3"] { #expect(try connection(url, version) != nil, "\(version)") }
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  @Test("Connections whose handshake never ends are closed, and others are served meanwhile")
  func endlessHandshakes() async throws {
    let identity = try TLSIdentity(certificateFile: certificate, keyFile: key)
    let server = try TestServer(identity: identity) { limits in
      (limits.http.connections, limits.http.connectionsPerAddress) = (32, 32)
      (limits.http.waitingConnections, limits.http.waitingConnectionsPerAddress) = (8, 8)
      (limits.http.headerTime, limits.http.watchInterval) = (.milliseconds(500), .milliseconds(10))
    }
    let url = server.server.url
    // The beginning of a handshake message of 8,192 bytes.
    let beginning = "\u{16}\u{3}\u{1}\u{20}\u{0}\u{1}"
    var slow: [RawConnection] = []
    for _ in 0..<50 {
      let connection = try RawConnection(to: "http" + url.dropFirst("https".count))
      #expect(connection.send(beginning))
      slow.append(connection)
      if slow.count.isMultiple(of: 10) {
        #expect(
          try run(programs.curl, ["-s", "--cacert", certificate, url + "/v1/health"]).output.contains("fieldvault"))
      }
    }
    let last = try #require(slow.last)
    var count = 0
    while last.send("\u{0}") {
      count += 1
      try #require(count < 400, "a handshake may take for ever")
      try await Task.sleep(for: .milliseconds(20))
    }
    await server.server.stop()
  }

  @Test("SIGHUP reads the certificate again, and one that cannot be used changes nothing")
  func renewedCertificate() async throws {
    let server = try serve(certificate: certificate, key: key)
    let url = try await server.url()
    func name() throws -> String { try connection(url)?.name ?? "" }
    func note(_ text: String) async throws {
      for _ in 0..<500 where !server.errors.contains(text) { try await Task.sleep(for: .milliseconds(20)) }
      #expect(server.errors.contains(text), "\(server.errors)")
    }
    #expect(try name().contains("first.example"))
    try certify("second.example")
    #expect(try name().contains("first.example"))
    server.signal(SIGHUP)
    try await note("reloaded the certificate")
    #expect(try name().contains("second.example"))
    try Data("no certificate".utf8).write(to: URL(fileURLWithPath: certificate))
    server.signal(SIGHUP)
    try await note("cannot reload the settings; nothing was changed")
    #expect(try name().contains("second.example"))
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  @Test("A check refuses a key of another certificate and names the line of the file")
  func checkOfCertificate() async throws {
    let file = folder.path + "/server.conf"
    try Data("data = data\ntls-cert = cert.pem\ntls-key = key.pem".utf8).write(to: URL(fileURLWithPath: file))
    let check = ["serve", "--config", file, "--listen", "127.0.0.1:0", "--check"]
    let good = try await RunningServer.run(check, in: folder)
    #expect(good.status == 0, "\(good)")
    let certificate = try Data(contentsOf: URL(fileURLWithPath: certificate))
    try certify("second.example")
    try certificate.write(to: URL(fileURLWithPath: self.certificate))
    let bad = try await RunningServer.run(check, in: folder)
    #expect(
      bad.status == 1 && bad.errors.contains("\(file):2: the certificate and the key could not be used"), "\(bad)")
    let variable = ["FIELDVAULT_SERVER_TLS_KEY": folder.path + "/nothing"]
    let missing = try await RunningServer.run(check, in: folder, variables: variable)
    #expect(missing.status == 1 && missing.errors.contains("cannot read \(folder.path)/nothing"), "\(missing)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/data"))
  }
}
