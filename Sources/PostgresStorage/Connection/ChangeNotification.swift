import Platform
import ServerStorage

/// The text by which a node tells others of changes: the node, then for each account its folder, the numbers of its first and
/// last change, the device that made the changes, and the projects with the holders of changed memberships, or `*` if the changes concern all devices, or `!` if they
/// begin an epoch. The device is empty if it is unknown. `NODE,ACCOUNT:FIRST:LAST:DEVICE:*,ACCOUNT:FIRST:LAST:DEVICE:PROJECT`
struct ChangeNotification: Equatable {
  let node: String
  let changes: [String: CommittedChanges]

  /// PostgreSQL accepts fewer than 8,000 bytes.
  static let greatestLength = 7_900
  /// Changes of more projects concern all devices.
  static let mostProjects = 20
  private static let (all, epoch) = ("*", "!")

  /// Parses a text; `nil` for a text of another form.
  init?(_ text: String) {
    let parts = text.split(separator: ",")
    guard let node = parts.first else { return nil }
    self.node = String(node)
    var changes: [String: CommittedChanges] = [:]
    for part in parts.dropFirst() {
      let words = part.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      guard words.count >= 4, let first = Int64(words[1]), let last = Int64(words[2]), first <= last else { return nil }
      let projects = Set(words.dropFirst(4))
      changes[words[0]] =
        projects.contains(Self.epoch)
        ? CommittedChanges(epochAt: last)
        : CommittedChanges(
          first...last, projects: projects.contains(Self.all) ? nil : projects,
          author: words[3].isEmpty ? nil : words[3])
    }
    self.changes = changes
  }

  /// Moves as many changes as there is room for into a text.
  /// - Returns: `nil` without changes.
  static func take(from changes: inout [String: CommittedChanges], of node: String) -> String? {
    if changes.isEmpty { return nil }
    var text = node
    for (folder, change) in changes {
      // An id that is no UUID may have a separator in it.
      let author = change.author.flatMap { UUIDText.isCanonical($0) ? $0 : nil } ?? ""
      var words = [folder, String(change.numbers.lowerBound), String(change.last), author]
      if change.isNewEpoch {
        words.append(epoch)
      } else if let projects = change.projects, projects.count <= mostProjects {
        words += projects.sorted()
      } else {
        words.append(all)
      }
      let part = "," + words.joined(separator: ":")
      if text.utf8.count + part.utf8.count > greatestLength { break }
      text += part
      changes[folder] = nil
    }
    return text
  }
}
