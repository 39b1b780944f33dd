import CipherSQL
import SyncModel

/// Sends operations under keys that the server has responses for, as a device with a defect would.
struct ReusedKeyProbe {
  let device: SimulatedDevice
  /// An operation that a device has sent, and whose response the server has.
  let operation: PushOperation
  /// Whether the response says that the server has the state of the operation.
  let isStored: Bool

  /// - Throws: ``Violation`` if the server executes other content, or does not return the stored response to equal content.
  func check() async throws {
    var other = operation
    other.patch.updatedAt += 1
    // The digest would say that this is the content of the operation before a rename.
    other.sealedDigest = nil
    let result = try await send(other, 1)
    guard case .rejected(let problem) = result.outcome, problem.type == ServerProblem.keyReused else {
      throw Violation(3, ["the server takes other content under a used key: \(result.wire.json)"] + lines)
    }
    // A refusal may be about former names of fields, so the server has an operation with other names sealed again.
    if operation.sealedDigest != nil, !isStored { return }
    if case .rejected(let problem) = try await send(operation, 2).outcome, problem.type == ServerProblem.keyReused {
      throw Violation(3, ["the server does not know the content of a used key: \(problem)"] + lines)
    }
  }

  private var lines: [String] { ["\(operation.entityType) \(operation.entityUuid)"] }

  private func send(_ operation: PushOperation, _ count: Int64) async throws -> PushResult {
    let response = try await device.push(
      PushRequest(
        deviceId: "00000000-0000-7000-8000-00000000000d", deviceCounter: count, cursor: nil, operations: [operation]))
    guard let result = response.results.first else { throw Violation(3, ["the server returns no result"] + lines) }
    return result
  }
}
