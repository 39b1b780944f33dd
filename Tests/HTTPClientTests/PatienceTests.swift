import Foundation
import RawNetwork
import SyncModel
import Testing

@testable import HTTPClient

/// Limits of time, and cancellation.
@Suite struct PatienceTests {
  /// Keeps a connection open and says nothing, until the other side leaves.
  private func silence(_ connection: RawConnection) -> Bool { connection.readRequest() != nil }

  @Test("A silent server fails with the idle timeout") func aServerThatSaysNothing() async throws {
    let server = try RawServer { _, connection in self.silence(connection) }
    defer { server.close() }
    let transport = try transport(server) { $0.idleSeconds = 0.3 }
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(failure == .timedOut(seconds: 0.3))
  }

  @Test("A body that stalls fails with the idle timeout") func aBodyThatStops() async throws {
    let server = try RawServer { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{")
      return self.silence(connection)
    }
    defer { server.close() }
    let transport = try transport(server) { $0.idleSeconds = 0.3 }
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(failure == .timedOut(seconds: 0.3))
  }

  @Test("A body that trickles fails with the timeout of the whole request") func aTrickleEndsWithTheLimitOfTheWhole()
    async throws
  {
    let server = try RawServer { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
      while connection.send("7") { usleep(20_000) }
      return false
    }
    defer { server.close() }
    let transport = try transport(server) {
      $0.idleSeconds = 20
      $0.wholeSeconds = 0.7
    }
    let failure = await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    #expect(failure == .timedOut(seconds: 0.7))
  }

  @Test("A slow response within the limits is accepted") func slowResponseIsAccepted() async throws {
    let text = healthy
    let server = try RawServer { _, connection in
      for byte in text.utf8 {
        connection.send([byte])
        usleep(1000)
      }
      return true
    }
    defer { server.close() }
    #expect(try await transport(server).send(HTTPRequest("/v1/health")).status == 200)
  }

  @Test("The timeout of a long poll replaces the idle timeout") func aLongPollHasItsPatience() async throws {
    let server = try RawServer { _, connection in
      usleep(800_000)
      return connection.send(responseText(#"{"changed":false}"#))
    }
    defer { server.close() }
    let transport = try transport(server) { $0.idleSeconds = 0.3 }
    let got = try await transport.send(HTTPRequest("/v1/watch", timeoutSeconds: 20))
    #expect(got.status == 200)
  }

  @Test("Cancelling a task cancels its request") func aCancelledTaskEndsItsRequest() async throws {
    let server = try RawServer { _, connection in self.silence(connection) }
    defer { server.close() }
    let transport = try transport(server)
    let task = Task { await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/x")) } }
    while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    task.cancel()
    #expect(await task.value == .cancelled)
  }

  @Test("A task that is cancelled before its request sends nothing") func aTaskThatIsCancelledBeforeSendsNothing()
    async throws
  {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let transport = try transport(server)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
    }
    task.cancel()
    #expect(await task.value == .cancelled)
    #expect(server.requests.isEmpty)
    #expect(try await transport.send(HTTPRequest("/v1/health")).status == 200)
  }

  @Test("Cancelled requests among many concurrent ones do not affect the others") func manyAtOnceSomeCancelled()
    async throws
  {
    let server = try RawServer { _, connection in
      usleep(UInt32.random(in: 0...3000))
      return connection.send(healthy)
    }
    defer { server.close() }
    let transport = try transport(server)
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<100 {
        group.addTask {
          let task = Task {
            await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/health")) }
          }
          if index % 3 == 0 { task.cancel() }
          let found = await task.value
          #expect(found == nil || index % 3 == 0 && found == .cancelled)
        }
      }
    }
  }
}
