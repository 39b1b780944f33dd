#if os(Linux)
  import CipherSQL
  import Foundation
  import Testing

  @testable import SyncEngine

  /// Interface information of Linux, with a virtual interface that the test creates and removes.
  @Suite struct LinuxInterfaceTests {
    @discardableResult
    private static func ip(_ arguments: String...) -> Bool {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["ip"] + arguments
      process.standardError = nil
      do {
        try process.run()
      } catch {
        return false
      }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }

    /// The name is unique to this process, because tests may run in several places at once.
    static let name = "fv\(getpid() % 100_000)"

    /// Whether the tests can create interfaces. That requires root, `ip`, and a kernel with pairs of virtual
    /// interfaces.
    static let canMakeInterfaces: Bool = {
      defer { ip("link", "delete", name + "p") }
      return ip("link", "add", name + "p", "type", "veth", "peer", "name", name + "q")
    }()

    @Test(
      "The monitor reports an interface that comes up and goes down",
      .enabled(if: canMakeInterfaces, "needs root and virtual interfaces"))
    func theKernelTellsOfAnInterface() async throws {
      defer { Self.ip("link", "delete", Self.name + "0") }
      let monitor = NetlinkInterfaceMonitor()
      defer { monitor.stop() }
      let (changes, continuation) = AsyncStream.makeStream(of: InterfaceStatus.self)
      try monitor.start { if case .success(let status) = $0 { continuation.yield(status) } }
      var iterator = changes.makeAsyncIterator()
      #expect(Self.ip("link", "add", Self.name + "0", "type", "veth", "peer", "name", Self.name + "1"))
      #expect(Self.ip("address", "add", "203.0.113.7/32", "dev", Self.name + "0"))
      #expect(Self.ip("link", "set", Self.name + "0", "up"))
      // Being up is not enough: the interface has no carrier before the other end is up, too.
      #expect(try !monitor.status().addresses.contains("\(Self.name)0 cb.0.71.7"))
      #expect(Self.ip("link", "set", Self.name + "1", "up"))
      let address = "\(Self.name)0 cb.0.71.7"
      while let status = await iterator.next(), !status.addresses.contains(address) {}
      #expect(try monitor.status().hasInterface)
      #expect(Self.ip("link", "set", Self.name + "0", "down"))
      while let status = await iterator.next(), status.addresses.contains(address) {}
    }

    @Test("Repeated starts and stops of monitors leave no thread")
    func aStoppedMonitorTellsNothingAndCanStartAgain() throws {
      for _ in 0..<50 {
        let monitor = NetlinkInterfaceMonitor()
        try monitor.start { _ in }
        try monitor.start { _ in }
        monitor.stop()
        monitor.stop()
      }
      // No thread of the monitors remains.
      let limit = Date().addingTimeInterval(20)
      while try threadCount() > 0, Date() < limit { usleep(10_000) }
      #expect(try threadCount() == 0)
    }

    private func threadCount() throws -> Int {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").filter {
        let name = FileManager.default.contents(atPath: "/proc/self/task/\($0)/comm") ?? Data()
        return String(decoding: name, as: UTF8.self).hasPrefix("fieldvault-net")
      }.count
    }

    @Test("Default routes are found in the routing table") func defaultRoutesAreFound() {
      let table = """
        Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
        wwan0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
        eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
        """
      #expect(
        LinuxInterfaces.defaultRoutes(table, name: 0) { $0.count > 7 && $0[1] == "00000000" && $0[7] == "00000000" }
          == ["wwan0"])
    }

    @Test(
      "Mobile interfaces are recognized by their names",
      arguments: [
        ("wwan0", true), ("wwp0s20f0u2", true), ("ppp0", true), ("rmnet_data0", true), ("eth0", false),
        ("wlan0", false), ("wlp3s0", false),
      ])
    func modemsAreKnownByTheirNames(name: String, isMobile: Bool) {
      #expect(LinuxInterfaces.isMobile(name) == isMobile)
    }
  }
#endif
