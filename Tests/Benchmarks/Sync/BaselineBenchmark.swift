import Foundation

/// Pushing and the first sync, compared with a build of commit `8564a16`: the same work by the programs of both builds, in
/// turns. Each build has a server of its own.
struct BaselineBenchmark {
  let folder: String
  let rounds: Int
  let count: Int

  /// CPU seconds for each operation or record.
  private struct Costs {
    var push: [(device: Double, server: Double)] = []
    var first: [(device: Double, server: Double)] = []
    /// A first sync after all parents were edited.
    var late: [(device: Double, server: Double)] = []
  }

  func findings() throws -> [Finding] {
    guard let baseline = ProgramBuild.baseline else {
      return [
        Finding("ratios to 8564a16: skipped, because the history of this repository lacks the commit", holds: nil)
      ]
    }
    var (old, new) = (Costs(), Costs())
    for round in 0..<rounds {
      if round % 2 == 0 {
        try measure(baseline, &old)
        try measure(.own, &new)
      } else {
        try measure(.own, &new)
        try measure(baseline, &old)
      }
    }
    let first = ratio(old.first, new.first, \.device)
    let late = ratio(old.late, new.late, \.device)
    return [
      cost("CPU per pushed operation", \.push, \.server, "server", limit: 0.52, old, new),
      cost("CPU per pushed operation", \.push, \.device, "device", limit: 0.50, old, new),
      cost("CPU per record of a first sync", \.first, \.server, "server", limit: 0.25, old, new),
      Finding(
        "first sync of \(count) records: the device's records per CPU second, ratio to 8564a16 \(format(first, 2)); with the "
          + "parents edited last \(format(late, 2)) (promised: at least 1.45)", holds: min(first, late) >= 1.45),
    ]
  }

  private func cost(
    _ name: String, _ part: KeyPath<Costs, [(device: Double, server: Double)]>,
    _ side: KeyPath<(device: Double, server: Double), Double>, _ sideName: String, limit: Double, _ old: Costs,
    _ new: Costs
  ) -> Finding {
    let ratio = ratio(new[keyPath: part], old[keyPath: part], side)
    let cost = median(new[keyPath: part].map { $0[keyPath: side] })
    return Finding(
      "\(name), \(sideName), of \(count): \(format(cost * 1e6, 1)) microseconds; ratio to 8564a16 \(format(ratio, 2)) "
        + "(promised: at most \(format(limit, 2)))", holds: ratio <= limit)
  }

  private func ratio(
    _ above: [(device: Double, server: Double)], _ below: [(device: Double, server: Double)],
    _ side: KeyPath<(device: Double, server: Double), Double>
  ) -> Double {
    median(zip(above, below).map { $0[keyPath: side] / $1[keyPath: side] })
  }

  private func measure(_ build: ProgramBuild, _ costs: inout Costs) throws {
    let place = folder + "/baseline"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: place) }
    let words = ["user", "add", "ada", "--account", "water", "--data", place + "/data", "--json"]
    guard let token = try build.run("fieldvault-server", words).json["token"] as? String else {
      throw BenchmarkFailure("the server prints no token")
    }
    try "\(token)\n".write(toFile: place + "/token", atomically: true, encoding: .utf8)
    chmod(place + "/token", 0o600)
    let server = try ServerProcess(folder: place + "/data", build: build)
    defer { server.stop() }
    func syncing(_ device: ProgramBuild.Device, _ name: String) throws -> (device: Double, server: Double) {
      let before = try server.processorTime()
      let (count, time) = try device.sync(name)
      return (time / Double(count), (try server.processorTime() - before) / Double(count))
    }
    func device(_ name: String) throws -> ProgramBuild.Device {
      try ProgramBuild.Device(build, name, in: place, server: server.url)
    }
    let writer = try device("writer")
    let project = try writer.put("Project", "title=House")
    let rooms = try (1...10).map { try writer.put("Room", "projectId=\(project)", "title=Room \($0)") }
    try write(project, rooms, to: place + "/readings.ndjson")
    try writer.run("import", "AtmosphericLog", place + "/readings.ndjson", "--quiet")
    costs.push.append(try syncing(writer, "pushed"))
    costs.first.append(try syncing(try device("first"), "pulled"))
    for room in rooms { _ = try writer.put("Room", "title=Edited", "--uuid", room) }
    _ = try writer.put("Project", "title=Edited", "--uuid", project)
    try writer.run("sync", "--quiet", "--json")
    costs.late.append(try syncing(try device("late"), "pulled"))
  }

  private func write(_ project: String, _ rooms: [String], to path: String) throws {
    var text = ""
    for index in 0..<count {
      let date = Date(timeIntervalSince1970: 1_767_225_600 + Double(index) * 60).formatted(.iso8601)
      text += """
        {"projectId":"\(project)","roomId":"\(rooms[index % rooms.count])","date":"\(date)",\
        "relativeHumidity":\(Double(index % 1000) / 10),"temperature":\(60 + Double(index % 300) / 10),\
        "dewPoint":\(40 + Double(index % 200) / 10)}

        """
    }
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }
}
