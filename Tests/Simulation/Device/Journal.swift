import Foundation
import Glibc
import TestSupport

/// Receives the intended writes of a device and their acknowledgements.
protocol Recorder {
  /// Records the intention of a transaction. A transaction without an acknowledgement may have happened or not.
  func intend(_ transaction: Int, _ entries: [Journal.Entry])

  /// Records that a transaction was committed.
  func acknowledge(_ transaction: Int)
}

/// The intended writes of a device and their acknowledgements, in a file next to its vault. A line is on the disk
/// when the call returns. The line of an acknowledgement is written after the commit has returned.
struct Journal: Recorder {
  enum Kind: String {
    /// A new record, or another value of its marker.
    case mark
    /// Another change of a record.
    case touch
    case delete
    case revive
    /// A photo was taken; the marker says which.
    case photo
    /// A person gave up operations, or decided about a conflict. The marker of the first is ``Journal/discarded``.
    case decide
  }

  struct Entry {
    let transaction: Int
    let kind: Kind
    let entity: String
    let uuid: String
    let marker: String
    /// The value that the record had before, as the user saw it; `nil` for a new record, or if nobody looked.
    var seen: String?
  }

  /// The marker of a decision that discards an operation.
  static let discarded = "discarded"

  let path: String
  private let descriptor: Int32

  init(at path: String) throws {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Unexpected("\(path): \(String(cString: strerror(errno)))") }
  }

  func close() { Glibc.close(descriptor) }

  func intend(_ transaction: Int, _ entries: [Entry]) {
    write(
      entries.map { "\(transaction)\t\($0.kind.rawValue)\t\($0.entity)\t\($0.uuid)\t\($0.marker)\n" }.joined(),
      isSynced: false)
  }

  func acknowledge(_ transaction: Int) { write("\(transaction)\tack\n", isSynced: true) }

  private func write(_ text: String, isSynced: Bool) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if isSynced { fsync(descriptor) }
  }

  /// The entries in their order, and the transactions that were acknowledged.
  static func read(_ path: String) throws -> (entries: [Entry], acknowledged: Set<Int>) {
    var entries: [Entry] = []
    var acknowledged: Set<Int> = []
    for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard let number = Int(parts[0]) else { continue }
      if parts.count == 2 {
        acknowledged.insert(number)
      } else if parts.count == 5, let kind = Kind(rawValue: parts[1]) {
        entries.append(
          Entry(transaction: number, kind: kind, entity: parts[2], uuid: parts[3], marker: parts[4]))
      }
    }
    return (entries, acknowledged)
  }

  /// The number after the last one that was used.
  static func next(_ path: String) throws -> Int {
    guard FileManager.default.fileExists(atPath: path) else { return 1 }
    return (try read(path).entries.map(\.transaction).max() ?? 0) + 1
  }
}
