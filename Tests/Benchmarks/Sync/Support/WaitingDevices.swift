import Foundation
import Glibc
import Platform

/// Devices that wait for changes of one project each and pull after one, over raw connections on one thread.
final class WaitingDevices: @unchecked Sendable {
  // `@unchecked Sendable` holds because only the thread of `run()` uses the devices, and the lock guards the rest.
  private struct Device {
    let descriptor: Int32
    let place: Place
    var cursor: String
    var isPulling = false
    /// When the last pull and the last watch began, in seconds.
    var pulled = 0.0
    var watched = 0.0
    var received: [UInt8] = []
  }

  /// Where a device connects, and what it follows.
  struct Place: Sendable {
    let port: UInt16
    let token: String
    let project: String
    let cursor: String
  }

  private struct State {
    var isRunning = true
    var waiting = 0
    /// When changes of a project were sent.
    var changes: [String: [Double]] = [:]
    var delays: [Double] = []
    var failure: String?
    var cursors: [String] = []
  }

  private let state = Locked(State())
  private let start = ContinuousClock.now
  private let places: [Place]

  init(_ places: [Place]) {
    self.places = places
    Thread.detachNewThread { [self] in run() }
  }

  /// The number of devices that wait.
  var waiting: Int { state.withLock { $0.waiting } }
  /// The cursor of each device.
  var cursors: [String] { state.withLock { $0.cursors } }
  /// The seconds from the sending of a change, or from the request of a device that was not waiting, to the response.
  var delays: [Double] { state.withLock { $0.delays } }
  /// Why the devices cannot go on.
  var failure: String? { state.withLock { $0.failure } }

  /// Notes a change that is about to be sent.
  func noteChange(of project: String) {
    let now = now
    state.withLock { $0.changes[project, default: []].append(now) }
  }

  func stop() { state.withLock { $0.isRunning = false } }

  private var now: Double { (ContinuousClock.now - start).inSeconds }

  private func run() {
    var devices: [Device] = []
    for (index, place) in places.enumerated() {
      // 28,000 ports are free for each address of the devices' side.
      guard let descriptor = Self.connect(to: place.port, from: UInt32(index % 4)) else { return fail("no connection") }
      devices.append(Device(descriptor: descriptor, place: place, cursor: place.cursor))
      watch(&devices[index])
    }
    var descriptors = devices.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    var counted = 0.0
    while state.withLock({ $0.isRunning }) {
      poll(&descriptors, nfds_t(descriptors.count), 100)
      for index in devices.indices where descriptors[index].revents != 0 && !read(&devices[index]) {
        return fail("a connection ended")
      }
      if now > counted + 0.2 {
        count(devices)
        counted = now
      }
      // A call looks at every connection.
      usleep(5_000)
    }
    for device in devices { close(device.descriptor) }
  }

  private func count(_ devices: [Device]) {
    let (waiting, cursors) = (devices.count { !$0.isPulling }, devices.map(\.cursor))
    state.withLock { ($0.waiting, $0.cursors) = (waiting, cursors) }
  }

  private func fail(_ text: String) { state.withLock { $0.failure = $0.failure ?? text } }

  private func watch(_ device: inout Device) {
    (device.isPulling, device.watched) = (false, now)
    send("/v1/watch?cursor=\(device.cursor)&timeout=50&projects=\(device.place.project)", device)
  }

  private func pull(_ device: inout Device) {
    (device.isPulling, device.pulled) = (true, now)
    send("/v1/changes?cursor=\(device.cursor)&projects=\(device.place.project)", device)
  }

  private func send(_ path: String, _ device: Device) {
    let text =
      "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(device.place.token)\r\nFieldVault-Protocol: 2\r\n\r\n"
    let bytes = Array(text.utf8)
    if Glibc.send(device.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) != bytes.count {
      fail("a request was not sent")
    }
  }

  /// Returns `false` if the connection has ended.
  private func read(_ device: inout Device) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = recv(device.descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { return false }
    device.received += buffer.prefix(count)
    guard let body = Self.body(of: device.received) else { return true }
    device.received = []
    if let cursor = body.split(separator: "\"cursor\":\"").dropFirst().first?.split(separator: "\"").first {
      device.cursor = String(cursor)
    }
    if device.isPulling {
      watch(&device)
    } else if body.contains("\"changed\":true") {
      noteTold(device)
      pull(&device)
    } else if body.contains("\"changed\":false") {
      watch(&device)
    } else {
      fail("a request failed: \(body.prefix(200))")
    }
    return true
  }

  private func noteTold(_ device: Device) {
    let now = now
    state.withLock { state in
      guard let change = state.changes[device.place.project]?.first(where: { $0 >= device.pulled }) else { return }
      state.delays.append(now - max(change, device.watched))
    }
  }

  /// Returns the body of a response; `nil` if it has not arrived whole.
  private static func body(of bytes: [UInt8]) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let end = text.range(of: "\r\n\r\n") else { return nil }
    let head = text[..<end.lowerBound].lowercased()
    guard let length = head.split(separator: "content-length:").dropFirst().first?.split(separator: "\r\n").first,
      let count = Int(length.trimmingCharacters(in: .whitespaces)), text[end.upperBound...].utf8.count >= count
    else { return nil }
    return String(text[end.upperBound...])
  }

  private static func connect(to port: UInt16, from address: UInt32) -> Int32? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    func bytes(_ address: UInt32, _ port: UInt16) -> sockaddr_in {
      var place = sockaddr_in()
      place.sin_family = sa_family_t(AF_INET)
      place.sin_port = port.bigEndian
      place.sin_addr.s_addr = (0x7F00_0001 + address).bigEndian
      return place
    }
    var (source, target) = (bytes(address + 1, 0), bytes(0, port))
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected =
      withUnsafePointer(to: &source) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
      }
      && withUnsafePointer(to: &target) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) == 0 }
      }
    guard isConnected else {
      close(descriptor)
      return nil
    }
    return descriptor
  }
}
