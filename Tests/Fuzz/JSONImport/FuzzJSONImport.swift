import FuzzStore
import FuzzSupport
import VaultStore

/// A JSON document is imported or refused.
@main
enum FuzzJSONImport: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    store.importing({ try $0.importJSON(ByteSource(bytes)) }, skippingInvalid: bytes.count & 1 == 0)
  }
}

private let store = FuzzRecords()
