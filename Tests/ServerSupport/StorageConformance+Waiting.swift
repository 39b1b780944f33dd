import Foundation
import ServerStorage
import SyncModel
import TestSupport
import Testing

extension StorageConformance {
  func waiting() async throws {
    let storage = try await make()
    defer { storage.close() }
    #expect(try await storage.waitForChange(one, after: 0, projects: nil, seconds: 1) == .unchanged(until: 0))
    async let told = storage.waitForChange(one, after: 0, projects: nil, seconds: 20)
    try await Task.sleep(for: .milliseconds(100))
    _ = try await storage.write(two) { try project(newUuid(), in: $0) }
    let (own, other) = (newUuid(), newUuid())
    _ = try await storage.write(one) { try project(own, in: $0) }
    #expect(try await told == .changed)
    #expect(try await storage.waitForChange(one, after: 0, projects: nil, seconds: 20) == .changed)
    #expect(try await storage.waitForChange(one, after: 0, projects: [own], seconds: 20) == .changed)
    async let concerned = storage.waitForChange(one, after: 1, projects: [own], seconds: 20)
    _ = try await storage.write(one) { try project(other, in: $0) }
    let room = try await storedDuringWait(storage, WaitOfDevice(projects: [newUuid()])) { data in
      _ = try data.store(
        RecordName("Room", newUuid()), over: nil, state(["projectId": .text(own), "title": "Kitchen"]), createdAt: 900,
        at: 2_000)
    }
    #expect(try await concerned == .changed)
    #expect(room.result == .unchanged(until: room.sequence))
    // A device's own change need not end its wait. The end of the time finds it.
    async let reader = storage.waitForChange(one, after: room.sequence, projects: nil, device: "b", seconds: 60)
    let authored = try await storedDuringWait(storage, WaitOfDevice(device: "a")) { data in
      try data.keep(DeviceCounter(counter: 1, operations: []), of: "a", at: 2_000)
      _ = try project(newUuid(), in: data)
    }
    #expect(authored.result == .changed)
    #expect(try await reader == .changed)
    let last = authored.sequence
    let old = ChangePosition(epoch: try await storage.read(one) { try $0.epochs.current }, sequence: last, floor: 0)
    async let elsewhere = storage.waitForChange(one, ChangeRequest(after: old, projects: [newUuid()], seconds: 20))
    try await Task.sleep(for: .milliseconds(100))
    _ = try await storage.write(one) { try $0.startEpoch(at: 3_000) }
    #expect(try await elsewhere == .changed)
    let again = ChangeRequest(after: old, projects: [newUuid()], seconds: 20)
    #expect(try await storage.waitForChange(one, again) == .unknownPosition)
    async let stopped = storage.waitForChange(one, after: last + 1, projects: nil, seconds: 20)
    try await Task.sleep(for: .milliseconds(100))
    storage.stopWaiting()
    #expect(try await stopped == .unchanged(until: last + 1))
  }

  private struct WaitOfDevice {
    var projects: Set<String>?
    var device: String?
  }

  /// Writes during a wait of two seconds. On a busy machine a wait may end before the write; then both are repeated.
  /// - Returns: the end of the wait and the number of the write.
  private func storedDuringWait(
    _ storage: any RecordStorage, _ wait: WaitOfDevice, _ write: @escaping @Sendable (any RecordWriting) throws -> Void
  ) async throws -> (result: WaitResult, sequence: Int64) {
    while true {
      let start = try await storage.read(one) { try $0.lastSequence }
      async let waited = storage.waitForChange(
        one, after: start, projects: wait.projects, device: wait.device, seconds: 2)
      try await Task.sleep(for: .milliseconds(300))
      let sequence = try await storage.write(one) { data in
        try write(data)
        return try data.lastSequence
      }
      let result = try await waited
      if result != .unchanged(until: start) { return (result, sequence) }
    }
  }
}
