import Foundation
import SimulatedDisk

/// Statement 8: nothing that a person wrote can be read in the files of a vault.
enum SecrecyCheck {
  static func check(_ folder: String) throws {
    let needle = Data(Person.markerPrefix.utf8)
    let files = FileManager.default.enumerator(atPath: folder)
    while let name = files?.nextObject() as? String {
      guard let content = FileManager.default.contents(atPath: folder + "/" + name) else { continue }
      if content.range(of: needle) != nil { throw Violation(8, "\(folder)/\(name) holds readable text") }
    }
  }

  /// Watches the later writes to a simulated disk.
  static func watch(_ machine: Machine) {
    simulated_disk_watch(machine.disk, Person.markerPrefix, Int64(Person.markerPrefix.utf8.count))
  }

  /// Checks every write to a watched disk since the last check, also to files that were removed.
  static func checkWrites(to machine: Machine) throws {
    guard let path = simulated_disk_exposed_path(machine.disk) else { return }
    throw Violation(8, "readable text was written to \(String(cString: path))")
  }

  /// Checks all files of a simulated disk.
  static func checkFiles(of machine: Machine) throws {
    let marker = Person.markerPrefix
    guard simulated_disk_contains(machine.disk, marker, Int64(marker.utf8.count)) == 0 else {
      throw Violation(8, "the disk of \(machine.name) holds readable text")
    }
  }
}
