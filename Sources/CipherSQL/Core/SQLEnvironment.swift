import CSQLCipher
import Platform

/// The clock and the random source of one connection. SQL sees them too: `strftime('now')`, `CURRENT_TIMESTAMP`,
/// `random()` and `randomblob()`, also in triggers and column defaults.
///
/// The connection must be closed before this value is released.
final class SQLEnvironment {
  private let clock: UnsafeMutablePointer<csqlcipher_clock>
  private let random: UnsafeMutablePointer<csqlcipher_random>

  /// - Throws: ``SQLError`` if memory is exhausted.
  init(_ environment: Environment) throws(SQLError) {
    let context = Unmanaged.passRetained(Context(environment)).toOpaque()
    guard let clock = csqlcipher_register_clock({ SQLEnvironment.time($0) }, context) else {
      Unmanaged<Context>.fromOpaque(context).release()
      throw SQLError(.other, "the clock of a connection cannot be registered")
    }
    random = .allocate(capacity: 1)
    random.initialize(to: csqlcipher_random(fill: { SQLEnvironment.fill($0, $1, $2) }, context: context))
    self.clock = clock
  }

  deinit {
    let context = random.pointee.context
    csqlcipher_unregister_clock(clock)
    random.deallocate()
    if let context { Unmanaged<Context>.fromOpaque(context).release() }
  }

  /// Runs a body with the name of the VFS that has the clock.
  func withName<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
    try body(csqlcipher_clock_name(clock))
  }

  /// Replaces the random functions of a connection.
  func install(on database: OpaquePointer) -> Int32 { csqlcipher_install_random(database, random) }

  /// The value that C passes back to its functions.
  private final class Context {
    let environment: Environment
    init(_ environment: Environment) { self.environment = environment }
  }

  private static func time(_ context: UnsafeMutableRawPointer?) -> Int64 {
    guard let context else { return 0 }
    return Unmanaged<Context>.fromOpaque(context).takeUnretainedValue().environment.now
  }

  private static func fill(_ context: UnsafeMutableRawPointer?, _ bytes: UnsafeMutableRawPointer?, _ count: Int32) {
    guard let context else { return }
    let random = Unmanaged<Context>.fromOpaque(context).takeUnretainedValue().environment.random
    random.fill(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
  }
}
