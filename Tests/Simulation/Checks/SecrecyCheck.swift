import Foundation

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
}
