import CipherSQL
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A small HTTP proxy. It connects each request to one port of this machine, whatever host the request names.
package final class ForwardProxy: Sendable {
  private let server: RawServer

  /// - Parameters:
  ///   - target: the port that is connected to.
  ///   - status: a status with which every request is refused, or `nil`.
  ///   - credentials: the value of `Proxy-Authorization` that requests need, or `nil`.
  package init(to target: UInt16, refusingWith status: String? = nil, credentials: String? = nil) throws {
    server = try RawServer { request, connection in
      if let credentials, request.headers["proxy-authorization"] != credentials {
        connection.send(
          responseText(
            "<html>", status: "407 Proxy Authentication Required", type: "text/html",
            headers: ["Proxy-Authenticate: Basic realm=\"company\""]))
        return false
      }
      if let status {
        connection.send(responseText("<html>", status: status, type: "text/html"))
        return false
      }
      Self.forward(request, connection, to: target)
      return false
    }
  }

  package var port: UInt16 { server.port }
  /// The first lines of the requests.
  package var lines: [String] { server.requests.map(\.line) }

  package func close() { server.close() }

  private static func forward(_ request: RawRequest, _ client: RawConnection, to target: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(descriptor) }
    var address = RelayLink.address(target)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard connected else { return _ = client.send(responseText("", status: "502 Bad Gateway", type: nil)) }
    let words = request.line.split(separator: " ")
    if words[0] == "CONNECT" {
      client.send("HTTP/1.1 200 Connection established\r\n\r\n")
    } else {
      let path = words[1].split(separator: "/", maxSplits: 2).dropFirst(2).joined()
      let headers = request.headers.filter {
        !["proxy-authorization", "proxy-connection", "connection"].contains($0.key)
      }
      let lines = ["\(words[0]) /\(path) HTTP/1.1", "Connection: close"] + headers.map { "\($0.key): \($0.value)" }
      RawConnection(descriptor: descriptor).send(
        Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + request.body)
    }
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      RelayLink.pass(descriptor, client.descriptor, 65_536) { $0 }
      ended.signal()
    }
    RelayLink.pass(client.descriptor, descriptor, 65_536) { $0 }
    ended.wait()
  }
}
