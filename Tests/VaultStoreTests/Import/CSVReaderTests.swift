import Foundation
import TestSupport
import Testing

@testable import VaultStore

/// RFC 4180, at any length and across any border of a buffer.
@Suite struct CSVReaderTests {
  private func records(_ bytes: [UInt8]) throws -> [[String]] {
    let folder = try TemporaryFolder()
    let path = folder.path + "/x.csv"
    try Data(bytes).write(to: URL(filePath: path))
    let reader = CSVReader(try ByteSource(path: path))
    var records: [[String]] = []
    while try reader.next() { records.append((0..<reader.count).map(reader.text)) }
    return records
  }

  private func records(_ text: String) throws -> [[String]] { try records(Array(text.utf8)) }

  @Test(
    "CSV text is split into records",
    arguments: [
      ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]), ("a,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]), ("a\n1", [["a"], ["1"]]),
      ("a,b\n,\n", [["a", "b"], ["", ""]]), ("a\n\n\nb\n", [["a"], ["b"]]), ("a\n\"\"\nb\n", [["a"], [""], ["b"]]),
      ("\u{FEFF}a,b\n", [["a", "b"]]), ("\"a,b\",c\n", [["a,b", "c"]]), ("\"x\ny\",c\n", [["x\ny", "c"]]),
      ("\"say \"\"hi\"\"\",c\n", [["say \"hi\"", "c"]]), ("5\"\" pipe,\"\"\"\"\n", [["5\"\" pipe", "\""]]), ("", []),
      ("a,", [["a", ""]]), ("\"a\"\r\n\"b\"", [["a"], ["b"]]),
    ])
  func records(_ text: String, _ expected: [[String]]) throws {
    #expect(try records(text) == expected)
  }

  @Test("Random quoted records read back as written") func anyRecordsReadBackAsWritten() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    let alphabet = ["a", "\"", ",", "\n", "\r\n", "é", "😀", " ", "longer text", ""]
    for _ in 0..<200 {
      let width = Int.random(in: 2...5, using: &random)
      let rows = (0..<Int.random(in: 1...30, using: &random)).map { _ in
        (0..<width).map { _ in
          (0..<Int.random(in: 0...6, using: &random)).map { _ in alphabet.randomElement(using: &random)! }.joined()
        }
      }
      let text = rows.map { row in
        row.map { "\"" + $0.replacingOccurrences(of: "\"", with: "\"\"") + "\"" }.joined(separator: ",")
      }.joined(separator: Bool.random(using: &random) ? "\n" : "\r\n")
      #expect(try records(text) == rows, "seed \(seed)")
    }
  }

  @Test("Records longer than the buffer are read whole") func recordsLongerThanTheBufferReadBack() throws {
    let long = String(repeating: "0123456789\"\",\n", count: 60_000)
    let read = try records("id,text\n1,\"\(long)\"\n2,short\n")
    #expect(read.count == 3)
    #expect(read[1][1] == long.replacingOccurrences(of: "\"\"", with: "\""))
    #expect(read[2] == ["2", "short"])
  }

  @Test("An unclosed quote is reported with the line where it opened")
  func aQuoteThatIsNeverClosedNamesTheLineWhereItOpened() throws {
    #expect {
      _ = try records("a,b\n1,2\n3,\"four\n5,6\n")
    } throws: { error in
      (error as? VaultError)?.message.hasSuffix(":3: the quote that opens here is never closed") == true
    }
  }

  @Test("Invalid UTF-8 is reported with its line") func brokenCharactersNameTheirLine() throws {
    #expect {
      _ = try records(Array("a,b\n1,2\n".utf8) + [0x33, 0x2c, 0xff, 0x0a])
    } throws: { error in
      (error as? CSVReader.Problem)?.line == 3
    }
  }

  @Test("Line numbers count quoted line breaks") func linesAreCountedAcrossQuotedLineBreaks() throws {
    let folder = try TemporaryFolder()
    let reader = CSVReader(try ByteSource(path: try folder.write("a\n\"x\ny\nz\"\nb\n", to: "x.csv")))
    var lines: [Int] = []
    while try reader.next() { lines.append(reader.line) }
    #expect(lines == [1, 2, 5])
  }
}
