import TestSupport

/// A disk that fails for a while under the server, by the layer that is put under its process.
struct FailingDisk {
  let layer: String
  /// The operation that fails, counted from the start of the process: of all that change a file, or of the syncs alone,
  /// behind which a commit has failed and stands in the log all the same.
  let at: Int
  let countsSyncsOnly: Bool
  let isFull: Bool
  /// Whether everything behind it fails, too.
  let lasts: Bool

  init(layer: String, _ random: inout Seeded) {
    self.layer = layer
    countsSyncsOnly = random.chance(0.5)
    at = random.number(1..<(countsSyncsOnly ? 60 : 400))
    (isFull, lasts) = (random.chance(0.5), random.chance(0.5))
  }

  /// The environment of a process that works below `root`.
  func variables(root: String) -> [String: String] {
    var variables = [
      "LD_PRELOAD": layer, "FAULT_MODE": "fail", "FAULT_ROOT": root, "FAULT_AT": String(at),
      "FAULT_ERRNO": isFull ? "ENOSPC" : "EIO", "FAULT_STICKY": lasts ? "1" : "0",
    ]
    if countsSyncsOnly { variables["FAULT_ONLY"] = "sync" }
    return variables
  }
}
