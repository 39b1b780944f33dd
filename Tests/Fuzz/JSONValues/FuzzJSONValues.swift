import FuzzSupport
import SyncModel

/// JSON that is read is written so that it reads back equal, and its canonical form is stable.
private func one(_ bytes: [UInt8]) {
  guard let value = try? SyncValue(parsing: bytes) else { return }
  let text = value.json
  require((try? SyncValue(parsing: text)) == value, "what was written reads back equal: \(text)")
  require((try? SyncValue(parsing: text))?.json == text, "writing is stable: \(text)")
}

/// The entry point that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt { fuzzed(bytes, count, one) }
