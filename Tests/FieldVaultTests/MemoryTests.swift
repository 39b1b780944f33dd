import Foundation
import Testing

/// Memory does not grow with the file: the program holds the page cache, Argon2id while it unlocks, and a little.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
struct MemoryTests {
  // The page cache that the test asks for, and the program with the libraries that read pictures.
  private static let withKeyFile = 72 << 20
  // Argon2id's 64 MiB in addition.
  private static let withPassphrase = 136 << 20

  @Test(
    "The memory of an import and a query does not grow with the number of rows",
    arguments: [
      (Workshop.Secret.passphrase, "csv", 30_000), (.keyFile, "csv", 100_000), (.keyFile, "ndjson", 90_000),
    ])
  func importingAndAskingNeedNoMemoryForWhatThereIs(_ secret: Workshop.Secret, _ format: String, _ rows: Int) throws {
    let limit = secret == .keyFile ? Self.withKeyFile : Self.withPassphrase
    let shop = try Workshop(secret)
    try write(rows, format, to: shop.write("", to: "a.\(format)"))
    let ran = try shop.run(
      ["import", "AtmosphericLog", "@a.\(format)", "--set", "projectId=1", "--json"],
      environment: ["FIELDVAULT_PAGE_CACHE": "16"], watchingMemory: true)
    #expect(ran.status == 0, "\(ran.errors)")
    #expect(try ran.object()["imported"] as? Int == rows)
    #expect(ran.peakMemory > 1 << 20)
    #expect(ran.peakMemory < limit, "\(ran.peakMemory >> 20) MiB for \(rows) rows")
    // Output is streamed too.
    let out = try shop.run(
      ["query", "SELECT date, photoUrl FROM OfflineAtmosphericLog", "--json"],
      environment: ["FIELDVAULT_PAGE_CACHE": "16"],
      watchingMemory: true)
    #expect(out.peakMemory < limit, "\(out.peakMemory >> 20) MiB to write \(rows) rows")
  }

  /// Writes readings to a file, a part at a time.
  private func write(_ rows: Int, _ format: String, to path: String) throws {
    let file = try #require(FileHandle(forWritingAtPath: path))
    defer { try? file.close() }
    var text = format == "csv" ? "date,temperature,relativeHumidity,photoUrl\n" : ""
    let filler = String(repeating: "x", count: 300)
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
