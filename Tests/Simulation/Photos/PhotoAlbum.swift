import CipherSQL
import SimulatedDisk
import TestSupport
import VaultStore

/// The photos of a simulated world.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class PhotoAlbum: @unchecked Sendable {
  /// A photo is not added from the disk of a vault, which must hold no readable text.
  let camera: Machine
  let content = PhotoContent.small
  var random: Seeded
  /// Decides about other bytes under the names of contents.
  var others: Seeded
  /// The share of the work after which a restored server lacks the last photos; `nil` for never.
  var lossAt: Double?
  /// The greatest size of a file that the server accepts, in bytes.
  let limit: Int64?
  /// The greatest body of a request that a proxy lets through, in bytes.
  let bodyLimit: Int?
  /// The photos whose bytes were compared with the added ones.
  var compared: Set<String> = []
  /// Contents of which a restore has replaced the last copy.
  var replaced: Set<String> = []
  /// A file of the server that is away for a while.
  var hidden: (path: String, content: String)?
  /// Whether devices lose power while they add a photo.
  private let losesPower: Bool

  init(in scheduler: Scheduler, losesPower: Bool, _ random: Seeded, others: Seeded) throws {
    self.losesPower = losesPower
    (self.random, self.others) = (random, others)
    camera = try Machine("camera", in: scheduler, seed: self.random.next())
    lossAt = self.others.chance(0.5) ? Double(self.others.number(30..<90)) / 100 : nil
    limit = self.random.chance(0.35) ? 100_000 : nil
    bodyLimit = self.random.chance(0.35) ? self.random.pick([70_000, 150_000]) : nil
  }

  /// Chooses the preferences of a new vault: some send decrypted files, for a server that processes images, and some fetch
  /// all files.
  func choosePreferences(_ vault: Vault) throws {
    if random.chance(0.3) { try vault.setPreference(.upload, "plaintext") }
    if random.chance(0.6) { try vault.setPreference(.download, "all") }
  }

  func photographer(
    _ vault: Vault, _ workload: Workload, _ journal: any Recorder, _ machine: Machine
  ) -> SimulatedPhotographer {
    let random = Seeded(self.random.next())
    return SimulatedPhotographer(
      photographer: Photographer(
        vault: vault, workload: workload, journal: journal, name: machine.name,
        camera: "\(camera.root)/\(machine.name)", content: content, random: random, transaction: 0),
      machine: machine, losesPower: losesPower, random: Seeded(self.random.next()))
  }
}

/// A user who takes photos now and then, sometimes with an empty battery.
struct SimulatedPhotographer {
  fileprivate(set) var photographer: Photographer
  fileprivate let machine: Machine
  fileprivate let losesPower: Bool
  fileprivate var random: Seeded

  /// Does something with a photo, or nothing.
  /// - Returns: the number of its transaction; `nil` for nothing.
  mutating func act(after transaction: Int) throws -> Int? {
    guard random.chance(0.12) else { return nil }
    if losesPower, random.chance(0.15) {
      machine.fail(Machine.everyOperation, after: random.number(0..<80), simulated_power_cut)
    }
    photographer.transaction = transaction
    try photographer.act()
    return photographer.transaction
  }
}
