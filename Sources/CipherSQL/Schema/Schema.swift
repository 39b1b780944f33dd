import CSodium

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// One versioned file of a schema.
public struct MigrationFile: Sendable, Hashable {
  /// The number at the beginning of the file's name, from 1 on.
  public let version: Int
  /// The rest of the file's name, without `.sql`.
  public let name: String
  /// The whole text.
  public let sql: String

  /// Creates a file from its parts, without checks.
  /// - Parameters:
  ///   - version: the number at the beginning of the file's name, from 1.
  ///   - name: the rest of the file's name, without `.sql`.
  ///   - sql: the whole text.
  public init(version: Int, name: String, sql: String) {
    (self.version, self.name, self.sql) = (version, name, sql)
  }

  /// The name of the file, such as `0001_projects_and_rooms.sql`.
  public var fileName: String {
    let digits = String(version)
    return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits + "_" + name + ".sql"
  }

  /// SHA-256 of the text, in lowercase hexadecimal digits.
  public var checksum: String {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    var copy = sql
    copy.withUTF8 { _ = crypto_hash_sha256(&digest, $0.baseAddress, UInt64($0.count)) }
    return HexText.text(digest)
  }
}

extension MigrationFile {
  /// Returns whether the file has the bytes of an applied text. Operators of `String` ignore differences that Unicode
  /// normalisation removes.
  func isUnchanged(since applied: String) -> Bool {
    var (old, new) = (applied, sql)
    return old.withUTF8 { old in
      new.withUTF8 { new in
        guard old.count == new.count else { return false }
        guard let first = old.baseAddress, let second = new.baseAddress else { return true }
        return memcmp(first, second, old.count) == 0
      }
    }
  }

  /// Returns the line of the first statement that differs from an applied text, counted from 1, or `nil` if all
  /// statements are equal. Comments and white space may change after a file was applied.
  package func firstChange(since applied: String) -> Int? {
    if isUnchanged(since: applied) { return nil }
    let (old, new) = (Array(applied.utf8), Array(sql.utf8))
    let (before, after) = (Self.statementTokens(of: old), Self.statementTokens(of: new))
    let equal = zip(before, after).prefix { old[$0.range].elementsEqual(new[$1.range]) }.count
    guard equal < before.count || equal < after.count else { return nil }
    let place = equal < after.count ? after[equal].range.lowerBound : after.last?.range.upperBound ?? 0
    return 1 + new[..<place].count { $0 == UInt8(ascii: "\n") }
  }

  private static func statementTokens(of text: [UInt8]) -> [SQLText.Token] {
    SQLText.tokens(of: text).filter { $0.kind != .space && $0.kind != .comment }
  }
}

/// A named folder of versioned SQL files, in order.
public struct Schema: Sendable, Hashable {
  /// The name under which its versions are recorded, such as `restoration`.
  public let name: String
  /// The files, by ascending version.
  public let migrations: [MigrationFile]

  /// Creates a schema from its files. ``Migrator`` refuses files that are not numbered from 1 on without a gap.
  /// - Parameters:
  ///   - name: the name under which its versions are recorded.
  ///   - migrations: the files, by ascending version.
  public init(name: String, migrations: [MigrationFile]) {
    self.name = name
    self.migrations = migrations
  }
}
