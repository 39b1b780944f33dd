import CipherSQL
import HTTPServer
import SimulatedDisk
import TestSupport
import VaultStore

extension SimulatedWorld {
  /// Takes a file of the server away for a while, like a volume that is not mounted completely, and looks for readable text.
  func disturbFiles() throws {
    guard let album else { return }
    if album.random.chance(0.4) { try checkSecrecy(of: album.random.pick(devices)) }
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

  /// The disks of devices hold no readable text.
  func checkSecrecy(of device: SimulatedDevice) throws {
    let marker = Person.markerPrefix
    guard simulated_disk_contains(device.machine.disk, marker, Int64(marker.utf8.count)) == 0 else {
      throw Violation(8, "the disk of \(device.name) holds readable text")
    }
  }

  func checkPhotos(_ history: HistoryCheck) throws {
    guard let album else { return }
    let files = try ServerFiles(server.path)
    trace.tally("photos at the server", files.contents.count)
    let removed = try PhotoCheck(
      devices: devices, server: files, content: album.content, isHandled: history.isHandled,
      replaced: album.replaced, limit: album.limit
    ).check()
    trace.tally("photos removed everywhere", removed)
    for device in devices { try checkSecrecy(of: device) }
  }

  /// The server removes leftovers of crashes and unfinished uploads, one file in six hours, after a week.
  func checkSweep() throws {
    guard let album else { return }
    let (server, before) = (server, try ServerFiles(server.path))
    guard !before.orphans.isEmpty || before.uploads > 0, album.random.chance(0.25) else { return }
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
