import CipherSQL
import Foundation
import HTTPServer
import SQLCipherStorage
import SimulatedDisk
import SyncEngine
import TestSupport
import VaultStore

extension SimulatedWorld {
  /// Takes a file of the server away for a while, like a volume that is not mounted completely, and looks for readable text.
  func disturbFiles() throws {
    guard let album else { return }
    if album.random.chance(0.4) { try SecrecyCheck.checkFiles(of: album.random.pick(devices).machine) }
    if album.hidden != nil {
      guard album.random.chance(0.3) else { return }
      // A server sweeps when it starts.
      try restartServer(byPowerCut: false)
      scheduler.run(until: scheduler.now + 2_000_000)
      try repair()
      try bringFileBack()
    } else if album.random.chance(0.04) {
      try hideFile(album)
    }
  }

  private func hideFile(_ album: PhotoAlbum) throws {
    let server = server
    try perform { try await server.stop(byPowerCut: false) }
    let files = try ServerFiles(server.path)
    let file = files.files.isEmpty ? nil : album.random.pick(files.files)
    if let file {
      let path = "\(files.folder)/\(file.name)"
      try move(path, to: hiddenPath)
      album.hidden = (path, file.content)
      faults += 1
      trace.note("incident", "a file of the server is away")
    }
    try perform { try await server.start() }
    guard let file else { return }
    // The server notices the missing file when a device asks for it.
    let request = Request(
      method: "GET", path: "/v1/files/\(file.content)/full", query: [:],
      headers: ["authorization": "Bearer \(devices[0].token)"], body: [])
    try perform { _ = await server.respond(to: request) }
  }

  /// - Throws: ``Violation`` if the server has removed the content meanwhile.
  func bringFileBack() throws {
    guard let album, let (path, content) = album.hidden else { return }
    album.hidden = nil
    try move(hiddenPath, to: path)
    trace.note("incident", "a file of the server is back")
    guard try ServerFiles(server.path).known.contains(content) else {
      throw Violation(9, "the server has removed the content \(content), whose file was away for a while")
    }
  }

  private var hiddenPath: String { server.machine.root + "/hidden" }

  private func move(_ path: String, to target: String) throws {
    try Files.rename(path, to: target)
    for path in [path, target] { try Files.syncFolder(Files.parent(of: path)) }
  }

  /// Restores the server from a backup that is some minutes old, so that it lacks the last photos.
  func loseLastPhotos() throws {
    guard let album, let share = album.lossAt, shareOfWork >= share, has(.incident) else { return }
    album.lossAt = nil
    faults += 1
    try repair()
    try bringFileBack()
    try backUpServer()
    (network.trouble, network.offline) = (0, [])
    scheduler.run(until: scheduler.now + Int64(album.others.number(120_000_000..<900_000_000)))
    try repair()
    try notingReplacedFiles { try restoreServerAlone() }
  }

  /// Members send other bytes under the names of contents that a restored server has lost. The server cannot compare them
  /// before it has their records again, and the devices that have the contents have to send them again.
  func sendOtherContents() throws {
    guard let album else { return }
    var places: [String: String] = [:]
    for device in devices {
      let contents = try device.read { connection in
        try connection.fetch(
          "SELECT contentUuid FROM AttachmentContent WHERE full = 'here' AND serverHasFull = 1", as: String.self)
      }
      for content in contents { places[content] = "\(device.vault.layout.attachments)/\(content.suffix(2))/\(content)" }
    }
    for content in try ServerFiles(server.path).known { places[content] = nil }
    for (content, place) in places.sorted(by: { $0.key < $1.key }) where album.others.chance(0.5) {
      // Some have the length of the content.
      let size = album.others.chance(0.5) ? Int(simulated_disk_size(place)) : album.others.number(1..<2_000)
      try send(album.others.bytes(size), as: content, by: album.others.pick(devices))
    }
  }

  /// Lets each device learn that the server was restored, and evict all that it may. No device can know before that the server
  /// lacks the only other copy of a file. Then the devices send the files, before an incident replaces a vault.
  func sendLostFiles() throws {
    guard album != nil else { return }
    try resumeAll()
    let (trouble, offline) = (network.trouble, network.offline)
    (network.trouble, network.offline) = (0, [])
    network.identifiesOnly = true
    for device in devices {
      try perform { _ = try await device.round(RoundRequest()) }
      try device.vault.setPreference(.storageLimit, "0KB")
      try device.vault.evict()
      try device.vault.setPreference(.storageLimit, "2GB")
    }
    network.identifiesOnly = false
    for device in devices { try perform { _ = try await device.round(RoundRequest()) } }
    (network.trouble, network.offline) = (trouble, offline)
  }

  private func send(_ bytes: [UInt8], as content: String, by device: SimulatedDevice) throws {
    let name = Data(content.utf8).base64EncodedString()
    let request = Request(
      method: "POST", path: "/v1/files", query: [:],
      headers: [
        "authorization": "Bearer \(device.token)", "tus-resumable": "1.0.0", "upload-length": String(bytes.count),
        "upload-metadata": "content \(name)", "content-type": "application/offset+octet-stream",
        "content-length": String(bytes.count),
      ], body: bytes)
    let (server, trace) = (server, trace)
    try perform {
      let response = await server.respond(to: request)
      trace.note("incident", "\(device.name) sends \(bytes.count) other bytes as a content: \(response?.status ?? 0)")
    }
  }

  /// Performs an incident, and notes the contents that no device and no server has afterwards: a restore replaces files, too.
  func notingReplacedFiles(_ body: () throws -> Void) throws {
    guard let album else { return try body() }
    try bringFileBack()
    let before = try contentsAnywhere()
    try body()
    // People act before the last device has started, and their disks may fail.
    try repair()
    album.replaced.formUnion(before.subtracting(try contentsAnywhere()))
  }

  private func contentsAnywhere() throws -> Set<String> {
    var contents = try ServerFiles(server.path).contents
    for device in devices {
      contents.formUnion(
        try device.read { connection in
          try connection.fetch("SELECT contentUuid FROM AttachmentContent WHERE full = 'here'", as: String.self)
        })
    }
    return contents
  }

  // MARK: Checks

  func checkPhotos(_ history: HistoryCheck) throws {
    guard let album else { return }
    let files = try ServerFiles(server.path)
    trace.tally("photos at the server", files.contents.count)
    let removed = try PhotoCheck(
      devices: devices, server: files, content: album.content, isHandled: history.isHandled,
      replaced: album.replaced, limit: album.limit
    ).check()
    trace.tally("photos removed everywhere", removed)
    for device in devices { try SecrecyCheck.checkFiles(of: device.machine) }
  }

  /// Whether the clock of the server, which does not run, was set back. The time of retention stands still until the clock has
  /// caught up.
  private func isBehindRetention() throws -> Bool {
    let directory = try ServerDirectory(in: try server.folder())
    defer { directory.close() }
    return try directory.retentionTime().map { $0 > server.machine.wall } ?? false
  }

  /// The server removes leftovers of crashes and unfinished uploads, one file in six hours, after a week.
  func checkSweep() throws {
    guard let album else { return }
    let (server, before) = (server, try ServerFiles(server.path))
    guard !before.orphans.isEmpty || before.uploads > 0, album.random.chance(0.25), try !isBehindRetention() else {
      return
    }
    try perform { try await server.start() }
    let hours = 8 * 24 + 6 * (before.orphans.count + before.uploads + 2)
    scheduler.run(until: scheduler.now + Int64(hours) * 3_600_000_000)
    try perform { try await server.stop(byPowerCut: false) }
    let after = try ServerFiles(server.path)
    trace.tally("files swept", before.orphans.count + before.uploads)
    try after.checkOrphans()
    try after.checkContents()
    guard after.uploads == 0 else { throw Violation(9, "the server keeps an upload that has expired") }
    try Violation.expectNone("the sweep has removed a content", before.contents.subtracting(after.contents).sorted())
  }
}
