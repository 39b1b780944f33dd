import Foundation
import RawNetwork
import SyncModel
import Testing
import HTTPClient

@testable import SyncEngine

/// The network state, derived from interfaces, reports and probes.
@Suite struct NetworkMonitorTests {
  private let nobody = InterfaceStatus(hasInterface: false, isUnmetered: true)
  private let mobile = InterfaceStatus(hasInterface: true, isUnmetered: false, addresses: ["wwan0 10.0.0.2"])

  private func monitor(
    _ server: RawServer, _ interfaces: FakeInterfaces, local: Bool = false
  ) throws -> NetworkMonitor {
    let transport = try transport(server)
    return NetworkMonitor(
      remote: FieldVaultRemote(transport: transport), address: local ? transport.address : nil, interfaces: interfaces)
  }

  @Test("A probe finds the server") func aProbeFindsTheServer() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let monitor = try monitor(server, FakeInterfaces(true))
    #expect(monitor.state == .limited)
    #expect(await monitor.probe() == .online)
    #expect(monitor.state == .online)
  }

  @Test(
    "An error or a response of another service leaves the state limited",
    arguments: [responseText("<html></html>", type: "text/html"), problem(500), problem(401), "garbage\r\n\r\n"])
  func somebodyElseIsNotTheServer(text: String) async throws {
    let server = try RawServer { _, connection in
      connection.send(text)
      return false
    }
    defer { server.close() }
    #expect(try await monitor(server, FakeInterfaces(true)).probe() == .limited)
  }

  @Test("Without an interface, no request is sent") func withoutAnInterfaceNothingIsAsked() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let monitor = try monitor(server, FakeInterfaces(false))
    #expect(monitor.state == .offline)
    #expect(await monitor.probe() == .offline)
    let remote = MonitoredRemote(FieldVaultRemote(transport: try transport(server)), monitor: monitor)
    let failure = await remoteFailure { () throws(RemoteFailure) in try await remote.account() }
    #expect(failure?.responseClass == .unreachable)
    #expect(server.accepted == 0)
  }

  @Test("A server on this machine needs no interface") func aServerOnThisMachineNeedsNoInterface() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let monitor = try monitor(server, FakeInterfaces(false), local: true)
    #expect(monitor.isUnmetered)
    #expect(await monitor.probe() == .online)
  }

  @Test("Concurrent probes share one request") func callersAtOneTimeShareOneRequest() async throws {
    let server = try RawServer { _, connection in
      usleep(200_000)
      return connection.send(healthy)
    }
    defer { server.close() }
    let monitor = try monitor(server, FakeInterfaces(true))
    await withTaskGroup(of: NetworkState.self) { group in
      for _ in 0..<50 { group.addTask { await monitor.probe() } }
      for await state in group { #expect(state == .online) }
    }
    #expect(server.requests.count == 1)
    _ = await monitor.probe()
    #expect(server.requests.count == 2)
  }

  @Test("Requests change the state without a probe") func requestsMoveTheStateWithoutAProbe() async throws {
    let server = try RawServer(response: healthy)
    let monitor = try monitor(server, FakeInterfaces(true))
    let remote = MonitoredRemote(FieldVaultRemote(transport: try transport(server)), monitor: monitor)
    _ = try await remote.health()
    #expect(monitor.state == .online)
    monitor.report(.cancelled)
    monitor.report(.refused)
    #expect(monitor.state == .online)
    server.close()
    _ = await remoteFailure { () throws(RemoteFailure) in try await remote.health() }
    #expect(monitor.state == .limited)
  }

  @Test("A new interface is probed") func anInterfaceThatComesIsProbed() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let interfaces = FakeInterfaces(false)
    let monitor = try monitor(server, interfaces)
    var states = monitor.states.makeAsyncIterator()
    #expect(await states.next() == .offline)
    interfaces.set(mobile)
    #expect(!monitor.isUnmetered)
    while let state = await states.next(), state != .online { #expect(state == .limited) }
    interfaces.set(nobody)
    #expect(await states.next() == .offline)
  }

  @Test("Each listener is notified of the loss and the return of the network", .timeLimit(.minutes(1)))
  func everyListenerIsTold() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let interfaces = FakeInterfaces(true)
    let monitor = try monitor(server, interfaces)
    #expect(await monitor.probe() == .online)
    var screens = (0..<3).map { _ in monitor.states.makeAsyncIterator() }
    for index in screens.indices { #expect(await screens[index].next() == .online) }
    interfaces.set(nobody)
    for index in screens.indices { #expect(await screens[index].next() == .offline) }
    interfaces.set(mobile)
    for index in screens.indices {
      while let state = await screens[index].next(), state != .online { #expect(state == .limited) }
    }
    #expect(monitor.state == .online)
  }

  @Test("The offline state can be forced") func offlineCanBeForced() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let monitor = try monitor(server, FakeInterfaces(true))
    #expect(await monitor.probe() == .online)
    monitor.isForcedOffline = true
    #expect(monitor.state == .offline)
    #expect(await monitor.probe() == .offline)
    #expect(server.requests.count == 1)
    monitor.isForcedOffline = false
    #expect(monitor.state == .online)
  }

  @Test("A fixed state ignores reports and probes, but can be forced offline") func aFixedStateStays() async {
    let monitor = NetworkMonitor(fixed: .online, isUnmetered: false)
    monitor.report(.unreachable)
    #expect(await monitor.probe() == .online)
    #expect(!monitor.isUnmetered)
    monitor.isForcedOffline = true
    #expect(monitor.state == .offline)
  }

  @Test("A failing interface monitor does not prevent a probe") func aSystemThatDoesNotTellIsNoObstacle() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let refusal = InterfaceFailure("netlink", code: 1)
    let monitor = try monitor(server, FakeInterfaces(false, refusal: refusal))
    #expect(monitor.interfaceFailure == refusal)
    #expect(await monitor.probe() == .online)
  }

  @Test("Listeners can be added and removed from many threads", .timeLimit(.minutes(1)))
  func listenersComeAndGoFromManyThreads() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let interfaces = FakeInterfaces(true)
    let monitor = try monitor(server, interfaces)
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<40 {
        group.addTask {
          switch index % 4 {
          case 0: for await _ in monitor.states { break }
          case 1: await monitor.probe()
          case 2: monitor.report(index % 8 == 2 ? .unreachable : .ok)
          default: interfaces.set(InterfaceStatus(hasInterface: index % 8 == 3, isUnmetered: true))
          }
        }
      }
    }
    // Removed listeners do not block a new listener.
    var states = monitor.states.makeAsyncIterator()
    #expect(await states.next() == monitor.state)
    interfaces.set(nobody)
    while let state = await states.next(), state != .offline {}
    #expect(monitor.state == .offline)
  }
}
