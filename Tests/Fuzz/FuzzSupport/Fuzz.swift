/// Calls a target with the bytes of one input. Each target's entry point forwards to it.
public func fuzzed(_ bytes: UnsafePointer<UInt8>?, _ count: Int, _ body: ([UInt8]) -> Void) -> CInt {
  body(bytes.map { Array(UnsafeBufferPointer(start: $0, count: count)) } ?? [])
  return 0
}

/// Ends the process when a property does not hold, so that libFuzzer keeps the input.
public func require(_ holds: Bool, _ property: @autoclosure () -> String) {
  if !holds { fatalError("does not hold: \(property())") }
}
