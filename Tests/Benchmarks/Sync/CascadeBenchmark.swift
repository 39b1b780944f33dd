import Foundation
import SyncEngine
import SyncModel

/// Deleting a record with many dependents, until a device has pulled all deletions.
struct CascadeBenchmark {
  let folder: String
  let count: Int

  private struct Deletion {
    var acknowledged = 0.0
    var longestTransaction = 0.0
    var processorPerDependent = 0.0
  }

  func findings() async throws -> [Finding] {
    let few = try await delete(count / 10)
    let many = try await delete(count)
    return [
      Finding(
        "deleting a record with \(count) dependents: acknowledged after \(format(many.acknowledged, 2)) s by the clock, with "
          + "\(count / 10) after \(format(few.acknowledged, 2)) s (promised: acknowledged)", holds: true),
      Finding(
        "the server's longest write transaction meanwhile: \(format(many.longestTransaction * 1000, 1)) ms of CPU time, with "
          + "\(count / 10) dependents \(format(few.longestTransaction * 1000, 1)) ms (promised: at most 50)",
        holds: many.longestTransaction <= 0.05),
      Finding(
        "the server's CPU time for each dependent: \(format(many.processorPerDependent * 1000, 3)) ms, with \(count / 10) "
          + "dependents \(format(few.processorPerDependent * 1000, 3)) ms; "
          + "ratio \(format(many.processorPerDependent / few.processorPerDependent, 2))", holds: nil),
    ]
  }

  private func delete(_ count: Int) async throws -> Deletion {
    let data = folder + "/\(count)"
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
    let account = try await ServerFilling.fill("ada", readings: count, in: data)
    let times = try WriteTimes(path: folder + "/\(count).times")
    let server = try ServerProcess(folder: data, times: times)
    defer { server.stop() }
    let remote = try Access(url: server.url, token: account.token).remote()
    var page = try await remote.changes(cursor: nil, limit: ChangesPage.greatestLimit, projects: [])
    while page.hasMore { page = try await next(page, remote) }
    // Opening the account is no part of the deletion.
    try times.reset()
    let before = try server.processorTime()
    let start = ContinuousClock.now
    let response = try await remote.push(try await deletion(of: account.project, at: remote))
    var result = Deletion(acknowledged: (ContinuousClock.now - start).inSeconds)
    guard case .accepted = response.results.first?.outcome else {
      throw BenchmarkFailure("the server does not take the deletion: \(response.results)")
    }
    var left = count + 1
    while left > 0 {
      page = try await next(page, remote)
      left -= page.changes.count { $0.state.isDeleted && $0.entityType != "Room" }
      if !page.hasMore, left > 0 {
        _ = try await remote.watch(cursor: page.cursor, projects: [], deviceId: nil, seconds: 20)
      }
    }
    result.processorPerDependent = (try server.processorTime() - before) / Double(count)
    result.longestTransaction = try times.longest()
    return result
  }

  private func next(_ page: ChangesPage, _ remote: FieldVaultRemote) async throws -> ChangesPage {
    try await remote.changes(cursor: page.cursor, limit: ChangesPage.greatestLimit, projects: [])
  }

  private func deletion(of project: String, at remote: FieldVaultRemote) async throws -> PushRequest {
    let identifier = ServerFilling.identifier()
    let operation = PushOperation(
      operationId: identifier, idempotencyKey: identifier, kind: .delete, entityType: "Project", entityUuid: project,
      baseVersion: 1, baseEpoch: try await remote.account().epoch, schemaVersion: 1,
      patch: RecordPatch(isDeleted: true, updatedAt: 1_767_225_600_001))
    return PushRequest(deviceId: identifier, deviceCounter: 1, cursor: nil, operations: [operation])
  }
}
