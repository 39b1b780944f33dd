import Foundation
import TestSupport
import Testing

/// A store in `Tests/Data`, and the state that this version has to find in it.
struct EarlierVersion: Sendable, CustomTestStringConvertible {
  /// The version of the programs that made the store, and the name of its folder.
  let name: String
  /// The operations of `a.vault` after the migration. A migration queues failed operations again.
  let outbox: [String]
  /// The open conflicts of `a.vault`, and the side that the test takes in each.
  let conflicts: [String: String]
  /// The findings of `doctor` in `a.vault` after the migration.
  var findings: [String] = []
  /// The findings of `doctor` in `a.vault` after a sync, until the failed operations and the conflicts are resolved.
  var findingsAfterSync: [String] = []
  /// How many versions from the server wait in the inbox of `a.vault`.
  var kept = 0
  /// How many photos of `a.vault` have an upload that was begun and not finished.
  var begunUploads = 0
  /// The operations of `a.vault` that a sync does not send.
  let undecided: [String]
  /// The changes that let the failed operations of `a.vault` succeed, by entity.
  var corrections: [String: String] = [:]
  /// The titles of all projects after the conflicts are resolved.
  let projects: [String]
  /// The number of photos of `a.vault`.
  let photos: Int
  /// A note that the server does not have and whose deletion it remembers.
  var deletedNote: String?

  var testDescription: String { name }

  static let all = [
    EarlierVersion(
      name: "0.1",
      outbox: [
        "Equipment create pending", "Location update pending", "Note create pending", "Photo create pending",
        "Project update conflict", "Room delete pending", "Room update pending", "Room update pending",
      ],
      conflicts: ["Project concurrent_edit": "local"],
      undecided: ["Project update conflict"],
      projects: ["Flooded house (Ada)"],
      photos: 2),
    storeOfScript("0.2"), storeOfScript("0.3"), storeOfScript("0.4", retriesFailed: false),
  ]

  /// A store that `make-store` has made.
  /// - Parameter retriesFailed: whether its migration queues failed operations again.
  private static func storeOfScript(_ name: String, retriesFailed: Bool = true) -> EarlierVersion {
    let failed = retriesFailed ? "pending" : "failed"
    return EarlierVersion(
      name: name,
      outbox: [
        "Damage create \(failed)", "Equipment create pending", "Location update pending", "Note create \(failed)",
        "Photo create pending", "Project update conflict", "Project update conflict", "ProjectCrew create conflict",
        "Room delete pending", "Room update pending", "Room update pending",
      ],
      conflicts: [
        "Project concurrent_edit": "local", "Project deleted_remotely": "local", "ProjectCrew not_unique": "remote",
      ],
      findings: retriesFailed ? ["inbox"] : ["inbox", "sync"],
      findingsAfterSync: ["inbox", "sync"],
      kept: 2,
      begunUploads: 1,
      undecided: ["Damage create failed"] + (retriesFailed ? [] : ["Note create failed"]) + [
        "Project update conflict", "Project update conflict", "ProjectCrew create conflict",
      ],
      corrections: ["Damage": "affectedArea=12"],
      projects: ["Barn (Ada)", "Flooded house (Ada)"],
      photos: 3,
      deletedNote: "01a20000-0000-7000-8000-00000000ce11")
  }

  /// The store.
  var archive: String { packagePath("Tests/Data/\(name)/store.tar") }
}
