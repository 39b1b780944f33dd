import FuzzStore
import FuzzSupport
import OfflineStore

/// An NDJSON file is imported or refused.
private func one(_ bytes: [UInt8]) {
  guard let first = bytes.first else { return }
  let content = Array(bytes.dropFirst())
  store.importing({ try $0.importNDJSON(ByteSource(content, part: Int(first))) }, skippingInvalid: first & 1 == 0)
}

private let store = FuzzRecords()

/// The entry point that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { fuzzed(bytes, count, one) }
