import CPlatform

/// The memory and the descriptors of this process.
package enum ProcessResources {
  /// Returns freed memory to the system, which the C library may keep for later allocations.
  package static func returnFreedMemory() { cplatform_return_freed_memory() }

  /// Raises the soft limit of open descriptors to the hard limit.
  /// - Returns: the number of descriptors that this process may have open.
  package static func raiseDescriptorLimit() -> Int { Int(clamping: cplatform_raise_descriptor_limit()) }
}
