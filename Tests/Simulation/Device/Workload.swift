import CipherSQL
import Foundation
import GeneratedSchemas
import TestSupport
import VaultStore
import RestorationModel

/// A schema with the kinds of record that the devices of a world write.
struct Workload: Sendable {
  let name: String
  let kinds: [Kind]
  /// The folder of the schema; `nil` for a schema that the programs carry, and for a generated one.
  let folder: String?
  /// Whether users write with OR IGNORE, which may leave the base of a record that did not change.
  let writesOrIgnore: Bool
  /// Whether a later version of the schema may rename columns.
  let allowsRenames: Bool
  /// A generated schema, or one that a world has upgraded.
  private let built: Schema?
  /// Whether a world has upgraded the schema.
  private(set) var isUpgraded = false

  /// Whether the devices take photos. Their vaults and their server are neither copied nor restored.
  var hasPhotos: Bool { folder == nil && name == "restoration" && !hasIncidents }
  /// Whether vaults are copied, and vaults and servers restored from backups.
  let hasIncidents: Bool

  static let all = [
    Workload("restoration", kinds: Kind.restorationKinds, hasIncidents: false),
    Workload("restoration", kinds: Kind.restorationKinds, hasIncidents: true),
    Workload("references", kinds: Kind.referenceKinds), Workload("places", kinds: Kind.placeKinds),
    Workload("values", kinds: Kind.valueKinds),
  ]

  /// The workload of a deterministic simulation with photos.
  static let withPhotos = Workload("restoration", kinds: Kind.restorationKinds, hasIncidents: true)

  /// The hand-written workloads of the deterministic simulation.
  static let simulated = [
    Workload("references", kinds: Kind.referenceKinds), Workload("places", kinds: Kind.placeKinds),
    Workload("values", kinds: Kind.valueKinds), Workload("scans", kinds: Kind.scanKinds),
    Workload("crews", kinds: Kind.crewKinds),
  ]

  /// The workload of the worlds with a ``SimulatedAPI``.
  static let rest = Workload("stations", kinds: Kind.stationKinds)

  private init(_ name: String, kinds: [Kind], hasIncidents: Bool) {
    (self.name, self.kinds, self.hasIncidents, folder, built) = (name, kinds, hasIncidents, nil, nil)
    (writesOrIgnore, allowsRenames) = (false, false)
  }

  private init(_ name: String, kinds: [Kind]) {
    (self.name, self.kinds, hasIncidents, built) = (name, kinds, true, nil)
    // The service knows its columns by their names.
    (writesOrIgnore, allowsRenames) = (false, !kinds.contains { $0.entity == SimulatedService.entity })
    folder = Self.schemas.appending(path: name).path
  }

  /// The workload of a generated schema.
  init(_ schema: GeneratedSchema) {
    (name, kinds, hasIncidents) = ("generated-\(schema.number)", schema.kinds, true)
    (folder, built, writesOrIgnore) = (nil, schema.schema, schema.writesOrIgnore)
    allowsRenames = schema.allowsRenames
  }

  /// The workload of a later version of the schema.
  init(_ earlier: Workload, _ schema: Schema, _ kinds: [Kind]) {
    (name, self.kinds, hasIncidents) = (earlier.name, kinds, earlier.hasIncidents)
    (folder, built, writesOrIgnore) = (nil, schema, earlier.writesOrIgnore)
    (allowsRenames, isUpgraded) = (earlier.allowsRenames, true)
  }

  /// Draws the workload of a world: one of the hand-written ones, or one of a generated schema.
  static func draw(_ random: inout Seeded) -> Workload {
    if random.chance(0.02) { return withPhotos }
    return random.chance(0.2)
      ? random.pick(simulated) : Workload(GeneratedSchema(number: random.number(0..<GeneratedSchema.count)))
  }

  private static let schemas = URL(filePath: packagePath("Tests/Simulation/Schemas"))

  /// The schema as a vault takes it.
  func schema() throws -> (source: SchemaSource, schema: Schema) {
    if let built { return (SchemaSource(name: built.name, folder: nil), built) }
    return (
      SchemaSource(name: name, folder: folder),
      try folder.map { try Schema.load(folder: $0, name: name) } ?? RestorationSchema.schema
    )
  }

  func kind(_ entity: String) -> Kind? { kinds.first { $0.entity == entity } }

  func random(_ random: inout Seeded) -> Kind {
    var number = random.number(0..<kinds.reduce(0) { $0 + $1.weight })
    for kind in kinds {
      number -= kind.weight
      if number < 0 { return kind }
    }
    return kinds[0]
  }

  /// The depth of the reference graph; a cycle counts each of its kinds once, and once more for its return.
  var depth: Int { kinds.map { depth($0, []) }.max() ?? 0 }

  private func depth(_ kind: Kind, _ path: Set<String>) -> Int {
    if path.contains(kind.entity) { return 1 }
    return kind.references.compactMap { self.kind($0.entity) }
      .map { 1 + depth($0, path.union([kind.entity])) }.max() ?? 0
  }
}
