import FuzzStore
import FuzzSupport
import OfflineStore

/// A JSON document is imported or refused.
private func one(_ bytes: [UInt8]) {
  store.importing({ try $0.importJSON(ByteSource(bytes)) }, skippingInvalid: bytes.count & 1 == 0)
}

private let store = FuzzRecords()

/// The entry point that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { fuzzed(bytes, count, one) }
