import CPlatform

/// The memory and the descriptors of this process.
package enum ProcessResources {
  /// Returns freed memory to the system, which the C library may keep for later allocations.
  package static func returnFreedMemory() { cplatform_return_freed_memory() }
}
