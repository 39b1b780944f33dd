import CFuzzer

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A reader of foreign data and the property that holds for each input. The conforming type is the program.
public protocol FuzzTarget {
  /// Reads one input and ends the process when the property does not hold.
  static func run(_ input: [UInt8])
}

extension FuzzTarget {
  /// Runs libFuzzer with the arguments of the process.
  public static func main() {
    target = run
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments, runTarget))
  }
}

/// The target of this process. It is set before the first input.
nonisolated(unsafe) private var target: ([UInt8]) -> Void = { _ in }

/// The entry point that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func runTarget(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  target(Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}

/// Ends the process when a property does not hold, so that libFuzzer keeps the input.
public func require(_ holds: Bool, _ property: @autoclosure () -> String) {
  if !holds { fatalError("does not hold: \(property())") }
}
