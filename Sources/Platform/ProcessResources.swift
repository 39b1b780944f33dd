import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The memory, the descriptors and the user of this process.
package enum ProcessResources {
  /// Returns freed memory to the system, which the C library may keep for later allocations.
  package static func returnFreedMemory() { cplatform_return_freed_memory() }

  /// The name of the system's user that runs this process, or the number of a user without a name.
  package static var userName: String {
    let id = getuid()
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    guard getpwuid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil, let name = entry.pw_name else {
      return String(id)
    }
    return String(cString: name)
  }

  /// Raises the soft limit of open descriptors to the hard limit.
  /// - Returns: the number of descriptors that this process may have open.
  package static func raiseDescriptorLimit() -> Int { Int(clamping: cplatform_raise_descriptor_limit()) }
}
