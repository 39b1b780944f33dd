import FuzzStore
import FuzzSupport
import VaultStore

/// An NDJSON file is imported or refused.
@main
enum FuzzNDJSONImport: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let content = Array(bytes.dropFirst())
    store.importing({ try $0.importNDJSON(ByteSource(content, part: Int(first))) }, skippingInvalid: first & 1 == 0)
  }
}

private let store = FuzzRecords()
