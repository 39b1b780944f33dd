import FuzzSupport
import SyncModel

/// JSON that is read is written so that it reads back equal, and its canonical form is stable.
@main
enum FuzzJSONValues: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    guard let value = try? SyncValue(parsing: bytes) else { return }
    let text = value.json
    require((try? SyncValue(parsing: text)) == value, "what was written reads back equal: \(text)")
    require((try? SyncValue(parsing: text))?.json == text, "writing is stable: \(text)")
  }
}
