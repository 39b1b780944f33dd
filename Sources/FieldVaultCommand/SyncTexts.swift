import CommandLineKit
import Platform
import VaultStore
import SyncModel

/// Formats times for users.
enum RelativeTime {
  /// `2026-11-21 13:50:07 UTC (4 minutes ago)`
  static func ago(_ text: String) -> String {
    guard let time = WireTime.milliseconds(text) else { return text }
    return "\(short(text)) UTC (\(distance((Clock.system.now() - time) / 1000)))"
  }

  /// `2026-11-21 13:50:07`
  static func short(_ text: String) -> String {
    String(text.prefix(19)).replacing("T", with: " ")
  }

  /// The time now, as the database has it.
  static var now: String { WireTime.text(Clock.system.now()) }

  private static func distance(_ seconds: Int64) -> String {
    func text(_ count: Int64, _ unit: String) -> String { "\(count) \(unit)\(count == 1 ? "" : "s") ago" }
    return switch seconds {
    case ..<60: "just now"
    case ..<3600: text(seconds / 60, "minute")
    case ..<86_400: text(seconds / 3600, "hour")
    default: text(seconds / 86_400, "day")
    }
  }
}

/// `1 operation`, `1,200 operations`
func operationsText(_ count: Int) -> String { "\(countText(count)) \(count == 1 ? "operation" : "operations")" }

/// `1 record`, `1,200 records`
func recordsText(_ count: Int) -> String { "\(countText(count)) \(count == 1 ? "record" : "records")" }

/// `1 file`, `1,200 files`
func filesText(_ count: Int) -> String { "\(countText(count)) \(count == 1 ? "file" : "files")" }
