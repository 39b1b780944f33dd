import Foundation
import Testing

/// Memory does not grow with the file: what an import holds is the passphrase's function, the page cache and a little.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
struct MemoryTests {
  // Argon2id, the page cache of 16 MiB for each of the connections that may be open, and the program.
  private static let limit = (64 + 64 + 64) << 20

  @Test(arguments: [("csv", 30_000), ("csv", 300_000), ("ndjson", 30_000)])
  func importingNeedsNoMemoryForTheFile(_ format: String, _ rows: Int) throws {
    let shop = try Workshop(.passphrase)
    try write(rows, format, to: shop.write("", to: "a.\(format)"))
    let ran = try shop.run(
      ["import", "AtmosphericLog", "@a.\(format)", "--set", "projectId=1", "--json"],
      environment: ["FIELDVAULT_PAGE_CACHE": "16"], watchingMemory: true)
    #expect(ran.status == 0, "\(ran.errors)")
    #expect(try ran.object()["imported"] as? Int == rows)
    #expect(ran.peakMemory > 1 << 20)
    #expect(ran.peakMemory < Self.limit, "\(ran.peakMemory >> 20) MiB for \(rows) rows")
    // What goes out is streamed too.
    let out = try shop.run(
      ["query", "SELECT * FROM OfflineAtmosphericLog", "--json"], environment: ["FIELDVAULT_PAGE_CACHE": "16"],
      watchingMemory: true)
    #expect(out.peakMemory < Self.limit, "\(out.peakMemory >> 20) MiB to write \(rows) rows")
  }

  /// Writes readings to a file, a part at a time.
  private func write(_ rows: Int, _ format: String, to path: String) throws {
    let file = try #require(FileHandle(forWritingAtPath: path))
    defer { try? file.close() }
    var text = format == "csv" ? "date,temperature,relativeHumidity,photoUrl\n" : ""
    let filler = String(repeating: "x", count: 60)
    for row in 0..<rows {
      let humidity = Double(row % 1_000) / 10
      if format == "csv" {
        text += "2026-01-01T00:00:00.000Z,\(row % 100),\(humidity),\(filler)\(row)\n"
      } else {
        text +=
          #"{"date":"2026-01-01T00:00:00.000Z","temperature":\#(row % 100),"relativeHumidity":\#(humidity),"#
          + #""photoUrl":"\#(filler)\#(row)"}"# + "\n"
      }
      if text.utf8.count > 1 << 16 {
        try file.write(contentsOf: Data(text.utf8))
        text = ""
      }
    }
    try file.write(contentsOf: Data(text.utf8))
  }
}
