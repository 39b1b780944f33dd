import CommandLineKit
import Platform
import VaultStore
import SyncModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Times in the time zone of the user.
enum LocalTime {
  /// Returns a time of the database in local time with the name of the zone: `2026-11-21 14:50:07 CET`. Every other text is
  /// returned unchanged, a date without a time too.
  static func text(_ text: String) -> String {
    guard text.utf8.count == TimestampText.length, let milliseconds = WireTime.milliseconds(text) else { return text }
    var seconds = time_t(milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0))
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else { return text }
    var buffer = [CChar](repeating: 0, count: 96)
    let length = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M:%S %Z", &parts)
    return length > 0 ? String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self) : text
  }
}

/// Formats the times of a table: in UTC, or in local time with `--local`.
struct TimeFormat {
  private let isLocal: Bool

  init(_ context: CommandContext) {
    isLocal = context.arguments.isDeclared("local") && context.arguments.flag("local")
  }

  /// The title of a column with times.
  func title(_ name: String) -> String { isLocal ? name : "\(name) (UTC)" }

  func text(_ time: String) -> String { isLocal ? LocalTime.text(time) : RelativeTime.short(time) }

  /// The time of day, with its zone.
  func clock(_ time: String) -> String {
    isLocal ? String(LocalTime.text(time).dropFirst(11)) : RelativeTime.short(time).suffix(8) + " UTC"
  }
}

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
