import CipherSQL
import Foundation
import Glibc
import TestSupport
import VaultStore
import VaultKeys

/// What the program does when it is a victim itself: `--child commits VAULT KEYFILE COUNT EVERY`,
/// `--child photos VAULT KEYFILE SOURCES SEED`, and `--child open VAULT KEYFILE`.
enum Child {
  static func run(_ words: [String]) -> Int32 {
    do {
      switch words.first {
      case "commits" where words.count == 5:
        try commits(words[1], words[2], count: Int(words[3]) ?? 0, checkpointEvery: Int(words[4]) ?? 0)
      case "photos" where words.count == 5:
        let vault = try Vault.open(at: words[1], with: try .keyFile(at: words[2]), outdated: .leave)
        var work = PhotoWork(vault, sources: words[3], seed: UInt64(words[4]) ?? 0)
        try work.run(steps: Work.photoSteps) { acknowledge($0) }
        vault.close()
      case "open" where words.count == 3:
        try Vault.open(at: words[1], with: try .keyFile(at: words[2]), outdated: .leave).close()
      default:
        throw Unexpected("unknown child \(words)")
      }
      return 0
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      return 1
    }
  }

  /// Commits row after row, and says the number of each when its commit has returned. A commit that fails is tried
  /// again twice. With a count of 0 it goes on until it is killed.
  private static func commits(_ path: String, _ keyFile: String, count: Int, checkpointEvery: Int) throws {
    let vault = try Vault.open(at: path, with: try .keyFile(at: keyFile), outdated: .leave)
    let first = try vault.database.read { try Rows.count(in: $0) } + 1
    var number = first
    while count == 0 || number < first + count {
      let added = try retrying { try vault.database.write { try Rows.add(to: $0) } }
      acknowledge(String(added))
      number = added + 1
      if checkpointEvery > 0, number % checkpointEvery == 0 {
        _ = try retrying { try vault.database.withWriter { try $0.checkpoint() } }
      }
    }
    vault.close()
  }

  private static func retrying<Result>(_ body: () throws -> Result) throws -> Result {
    for _ in 0..<2 {
      do {
        return try body()
      } catch {
        FileHandle.standardError.write(Data("again after: \(error)\n".utf8))
      }
    }
    return try body()
  }

  /// One write, at once: the line is there when the process dies in the next moment.
  private static func acknowledge(_ text: String) {
    let line = Array("\(text)\n".utf8)
    _ = line.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
  }
}
