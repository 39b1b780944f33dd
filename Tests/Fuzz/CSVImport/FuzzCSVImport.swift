import FuzzStore
import FuzzSupport
import VaultStore

/// A CSV file is imported or refused, whatever its parts are.
@main
enum FuzzCSVImport: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let content = Array("title,count,size,data\n".utf8) + bytes.dropFirst()
    store.importing({ try $0.importCSV(ByteSource(content, part: Int(first))) }, skippingInvalid: first & 1 == 0)
    let reader = CSVReader(ByteSource(Array(bytes.dropFirst()), part: Int(first)), limit: 64, capacity: 4)
    var steps = 0
    while true {
      steps += 1
      require(steps <= bytes.count + 1, "the reader ends")
      do {
        guard try reader.next() else { return }
        for index in 0..<reader.count { _ = reader.text(index) }
      } catch is CSVReader.Problem {
        continue
      } catch {
        return
      }
    }
  }
}

private let store = FuzzRecords()
