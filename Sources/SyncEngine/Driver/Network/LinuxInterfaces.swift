#if os(Linux)
  import CPlatform
  import Foundation
  import Glibc

  /// The interfaces of Linux.
  enum LinuxInterfaces {
    /// The addresses that other machines can reach, each with the name of its interface, sorted.
    static func addresses() throws(InterfaceFailure) -> [String] {
      var list: UnsafeMutablePointer<ifaddrs>?
      guard getifaddrs(&list) == 0 else { throw InterfaceFailure("getifaddrs", code: errno) }
      defer { freeifaddrs(list) }
      var found: [String] = []
      var next = list
      while let entry = next {
        next = entry.pointee.ifa_next
        guard cplatform_reaches_out(entry) != 0 else { continue }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = cplatform_address_bytes(entry, &bytes)
        let text = bytes.prefix(count).map { String($0, radix: 16) }.joined(separator: ".")
        found.append("\(String(cString: entry.pointee.ifa_name)) \(text)")
      }
      return found.sorted()
    }

    /// False when the only way out of the local network is a mobile one.
    static func isUnmetered() -> Bool {
      // Without IPv6, or without a network, the kernel has no such file, which also means no route.
      let ways =
        defaultRoutes(contents("/proc/net/route"), name: 0) {
          $0.count > 7 && $0[1] == "00000000" && $0[7] == "00000000"
        }
        + defaultRoutes(contents("/proc/net/ipv6_route"), name: 9) {
          $0.count > 9 && $0[0].allSatisfy { $0 == "0" } && $0[1] == "00"
        }
      let names = Set(ways.filter { $0 != "lo" })
      return names.isEmpty || !names.allSatisfy(isMobile)
    }

    /// The names of the interfaces that a table of routes has for everything that is not local.
    static func defaultRoutes(_ table: String, name: Int, _ isDefault: ([Substring]) -> Bool) -> [String] {
      table.split(separator: "\n").map { $0.split { $0 == " " || $0 == "\t" } }
        .filter { isDefault($0) }.map { String($0[name]) }
    }

    /// Modems are named so by the kernel and by systemd (`wwan0`, `wwp0s20`), by PPP, and on Android's kernels.
    static func isMobile(_ interface: String) -> Bool {
      ["wwan", "wwp", "ppp", "rmnet"].contains { interface.hasPrefix($0) }
    }

    private static func contents(_ path: String) -> String {
      guard let bytes = FileManager.default.contents(atPath: path) else { return "" }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
#endif
