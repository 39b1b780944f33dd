import CipherSQL
import Foundation
import RestorationModel
import StoreSupport
import TestSupport
import Testing

@testable import VaultStore

/// Every import reader ends, with rows or with an error, whatever its input and its parts are.
@Suite struct HostileInputTests {
  private enum Event: Equatable { case record([String]), problem(Int, String), refused(String) }

  /// The result of a reader for some bytes.
  private func events(
    _ bytes: [UInt8], part: Int = .max, limit: Int = CSVReader.longestRecord, capacity: Int = 256 << 10
  ) throws -> [Event] {
    let reader = CSVReader(ByteSource(bytes, name: "x.csv", part: part), limit: limit, capacity: capacity)
    var events: [Event] = []
    // Each step takes at least one byte.
    for _ in 0...bytes.count {
      do {
        guard try reader.next() else { return events }
        events.append(.record((0..<reader.count).map(reader.text)))
      } catch let problem as CSVReader.Problem {
        events.append(.problem(problem.line, problem.message))
      } catch let error as VaultError {
        return events + [.refused(error.message)]
      }
    }
    Issue.record("the reader does not end")
    return events
  }

  @Test("Written CSV cells are read unchanged, also with combining characters behind quotes")
  func writtenCells() throws {
    var random = Seeded()
    for _ in 0..<500 {
      let cells = (0..<random.number(1..<5)).map { _ in
        (0..<random.number(0..<6)).map { _ in random.pick(["\"", "'", ",", "\n", "\r", "\u{301}", "é", "x", " "]) }
          .joined()
      }
      // An empty line is skipped.
      guard cells != [""] else { continue }
      let line = cells.map { CSVText.cell($0) }.joined(separator: ",") + "\n"
      #expect(try events(Array(line.utf8)) == [.record(cells)])
    }
  }

  @Test("A CSV field above the limit ends the import with the line", arguments: [true, false])
  func overlongField(isQuoted: Bool) throws {
    let quote: [UInt8] = isQuoted ? [UInt8(ascii: "\"")] : []
    let bytes = Array("a,b\n1,2\n3,".utf8) + quote + [UInt8](repeating: 0x78, count: 1 << 20)
    #expect(
      try events(bytes, limit: 1 << 20) == [
        .record(["a", "b"]), .record(["1", "2"]),
        .refused(
          "x.csv:3: a record is larger than 1 MiB" + (isQuoted ? ": the quote that opens here is never closed" : "")),
      ])
  }

  @Test("The line of an open quote is that of the quote, not of the record")
  func openQuote() throws {
    let bytes = Array("a\n\"x\ny\",\"z\n".utf8) + [UInt8](repeating: 0x0a, count: 1 << 20)
    #expect(
      try events(bytes, limit: 1 << 20)
        == [
          .record(["a"]),
          .refused("x.csv:3: a record is larger than 1 MiB: the quote that opens here is never closed"),
        ])
  }

  @Test("Random bytes in random parts give the same records and problems, and the reader ends")
  func randomParts() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = Seeded(seed)
    let alphabet = Array("\"\"\",,\n\n\r\r\nab;\u{FEFF}é".utf8) + [0, 0xff]
    for _ in 0..<1_000 {
      let bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in alphabet.randomElement(using: &random)! }
      let whole = try events(bytes)
      let parts = try events(
        bytes, part: Int.random(in: 1...7, using: &random), capacity: Int.random(in: 3...16, using: &random))
      #expect(whole == parts, "seed \(seed): \(bytes)")
      _ = try events(bytes, part: 3, limit: 16, capacity: 4)
    }
  }

  @Test("Lines in random parts are the same, and a line above the limit ends the import")
  func lines() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = Seeded(seed)
    for _ in 0..<1_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
        Array("\n\r\nab".utf8).randomElement(using: &random)!
      }
      let reader = LineReader(
        ByteSource(bytes, part: Int.random(in: 1...5, using: &random)), part: Int.random(in: 1...9, using: &random))
      var lines: [[UInt8]] = []
      while let line = try reader.next() { lines.append(Array(line)) }
      var expected = bytes.split(separator: 0x0a, omittingEmptySubsequences: false).map {
        Array($0.last == 0x0d ? $0.dropLast() : $0)
      }
      if expected.last == [], bytes.last != 0x0d { expected.removeLast() }
      #expect(lines == expected, "seed \(seed): \(bytes)")
    }
    let reader = LineReader(
      ByteSource([UInt8](repeating: 0x78, count: 2 << 20), name: "x.ndjson", part: 65_536), limit: 1 << 20)
    let error = #expect(throws: VaultError.self) { _ = try reader.next() }
    #expect(error?.message == "x.ndjson:1: the line is larger than 1 MiB")
  }

  @Test("A document without an end is refused at the limit")
  func endless() throws {
    let source = try ByteSource(path: "/dev/zero")
    let error = #expect(throws: VaultError.self) { _ = try source.readText(limit: 1 << 20) }
    #expect(error?.message == "/dev/zero is larger than 1 MiB")
    #expect(source.position <= 2 << 20)
  }

  @Test("Random documents are imported or refused, in every format")
  func randomDocuments() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = Seeded(seed)
    let (database, entities) = try restorationDatabase()
    let pieces = [
      "title", "address", "\"", ",", "\n", "{", "}", "[", "]", ":", "null", "1e400", "-0", "12345678901234567890",
      "\\ud800",
      "\u{0}", "\u{202E}", "true", " ", "{\"title\": \"x\"}", "[{\"title\":\"y\"}]", "isDeleted", "uuid", "\"title\":",
    ]
    for round in 0..<60 {
      var text = (0..<Int.random(in: 0...14, using: &random)).map { _ in pieces.randomElement(using: &random)! }
        .joined()
      if round % 3 == 0 { text = "title,address\n" + text }
      var bytes = Array(text.utf8)
      if Bool.random(using: &random) { bytes.insert(0xff, at: Int.random(in: 0...bytes.count, using: &random)) }
      let content = bytes
      var plan = ImportPlan()
      plan.skipsInvalid = Bool.random(using: &random)
      let part = Int.random(in: 1...9, using: &random)
      do {
        _ = try database.write { db in
          let importer = Importer(
            connection: db, entities: entities, entity: try entities.entity("Project"), plan: plan,
            progress: { _, _ in })
          let source = ByteSource(content, part: part)
          switch round % 3 {
          case 0: return try importer.importCSV(source)
          case 1: return try importer.importNDJSON(source)
          default: return try importer.importJSON(source)
          }
        }
      } catch is VaultError {
        continue
      } catch let refused as ImportRefused {
        #expect(refused.result.problemCount > 0, "seed \(seed): \(text)")
      }
    }
    #expect(try database.read { try $0.fetch("PRAGMA integrity_check", as: String.self) } == ["ok"])
  }
}
