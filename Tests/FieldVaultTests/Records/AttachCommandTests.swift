import Foundation
import TestSupport
import Testing

/// Photos and files from the command line.
@Suite
struct AttachCommandTests {
  private let shop: Workshop
  private static let data = packagePath("Tests/Data")

  init() throws {
    shop = try Workshop()
    for name in ["rocket.jpg", "retina.jpg"] {
      try FileManager.default.copyItem(atPath: Self.data + "/" + name, toPath: shop.path(name))
    }
  }

  private func add(_ files: String..., to record: String = Workshop.room) throws -> [String] {
    let ran = try shop.run(["attach", "add", "Room", record] + files.map { "@" + $0 })
    guard ran.status == 0 else { throw Unexpected(ran.errors) }
    return ran.lines.map(String.init)
  }

  private func stored() throws -> [String] {
    let folder = shop.path("v.vault/attachments")
    return try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.contains("/") }.sorted()
  }

  private func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: shop.path(name))) }

  @Test("An attached photo is exported byte for byte, and its encrypted file reveals nothing")
  func aPhotoGoesInAndComesOutByteForByteAndNothingOfItIsReadable() throws {
    let uuids = try add("rocket.jpg", "retina.jpg")
    #expect(uuids.count == 2)
    let list = try shop.done("attach", "list", "Room", Workshop.room, "--json").rows()
    #expect(list.map { $0["fileName"] as? String } == ["rocket.jpg", "retina.jpg"])
    #expect(list.map { $0["mimeType"] as? String } == ["image/jpeg", "image/jpeg"])
    #expect(list[0]["width"] as? Int == 640 && list[0]["height"] as? Int == 427)
    #expect(list[0]["projectId"] as? String == Workshop.project && list[0]["roomId"] as? String == Workshop.room)
    #expect(list[0]["full"] as? String == "here" && list[0]["thumbnail"] as? String == "here")
    for (uuid, name) in zip(uuids, ["rocket.jpg", "retina.jpg"]) {
      let out = try shop.done("attach", "export", uuid, "@out-\(name)", "--json").object()
      #expect(out["file"] as? String == shop.path("out-\(name)"))
      #expect(try bytes("out-\(name)") == bytes(name))
    }
    #expect(try stored().count == 4)
    for file in try stored() {
      let found = try bytes("v.vault/attachments/" + file)
      for piece in ["JFIF", "Exif", "Photoshop", "Adobe"] { #expect(found.range(of: Data(piece.utf8)) == nil) }
      #expect(!found.starts(with: [0xff, 0xd8]))
    }
    #expect(try shop.run("attach", "verify").status == 0)
  }

  @Test("Only SQL shows the key of a file")
  func theKeyOfAFileIsShownToSQLAlone() throws {
    let uuid = try #require(try add("rocket.jpg").first)
    for words in [["get", "Photo", uuid], ["list", "Photo"], ["export", "Photo"]] {
      let shown = try shop.run(words)
      #expect(shown.output.contains("contentUuid") && !shown.output.contains("contentKey"), "\(words)")
    }
    let record = try shop.done("get", "Photo", uuid, "--json").object()
    #expect(record["contentDigest"] is String && record["contentKey"] == nil)
    let rows = try shop.done("query", "SELECT length(contentKey) AS n FROM OfflinePhoto", "--json").rows()
    #expect(rows.first?["n"] as? Int == 32)
  }

  @Test("One attached file is a JSON object, and several are an array")
  func oneFileIsAnObjectAndSeveralAreAnArray() throws {
    let one = try shop.done("attach", "add", "Room", Workshop.room, "@rocket.jpg", "--json").object()
    #expect(one["entityType"] as? String == "Photo")
    #expect(one["contentDigest"] as? String == "c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c")
    let two = try shop.done("attach", "add", "Room", Workshop.room, "@rocket.jpg", "@retina.jpg", "--json").rows()
    #expect(two.count == 2)
    #expect(two[0]["contentUuid"] as? String == one["contentUuid"] as? String)
  }

  @Test("A missing file attaches none of the named files")
  func allFilesOrNone() throws {
    let ran = try shop.run("attach", "add", "Room", Workshop.room, "@rocket.jpg", "@missing.jpg")
    #expect(ran.status == 1)
    #expect(ran.errors.contains("missing.jpg"))
    #expect(try shop.count("OfflinePhoto") == 0)
    #expect(try stored().isEmpty)
  }

  @Test("An export overwrites a file only with --force")
  func anExportReplacesNothingWithoutForce() throws {
    let uuid = try add("rocket.jpg")[0]
    try shop.write("mine", to: "out.jpg")
    let refused = try shop.run("attach", "export", uuid, "@out.jpg")
    #expect(refused.status == 1 && refused.errors.contains("--force"), "\(refused.errors)")
    #expect(try bytes("out.jpg") == Data("mine".utf8))
    try shop.done("attach", "export", uuid, "@out.jpg", "--force", "--thumbnail")
    #expect(try bytes("out.jpg").starts(with: [0xff, 0xd8]) && bytes("out.jpg").count < 20_000)
  }

  @Test("attach list shows the capture times in UTC, and with --local in local time with its zone")
  func captureTimes() throws {
    _ = try add("rocket.jpg")
    try shop.done("query", "--write", "UPDATE OfflinePhoto SET capturedAt = '2026-07-01T10:00:00.000Z'")
    let utc = try shop.done("attach", "list")
    #expect(utc.lines[0].contains("captured (UTC)") && utc.lines[1].contains("2026-07-01 10:00:00"), "\(utc.output)")
    let local = try shop.run(["attach", "list", "--local"], environment: ["TZ": "CET-1CEST,M3.5.0,M10.5.0"])
    #expect(local.output.contains("2026-07-01 12:00:00 CEST") && !local.output.contains("UTC"), "\(local.output)")
    let vertical = try shop.done("attach", "list", "--vertical")
    #expect(vertical.output.contains("2026-07-01 10:00:00"), "\(vertical.output)")
  }

  @Test("A file name with line breaks or slashes is shown on one line and exported safely")
  func aNameWithLinesIsShownOnOneAndMakesNoFolders() throws {
    let name = "a\nb\u{1b}[31m.jpg"
    try FileManager.default.copyItem(atPath: shop.path("rocket.jpg"), toPath: shop.path(name))
    let uuid = try add(name)[0]
    let list = try shop.done("attach", "list")
    #expect(list.lines.count == 2 && !list.output.contains("\u{1b}"))
    #expect(try shop.done("attach", "list", "--json").rows()[0]["fileName"] as? String == name)
    try shop.done("query", "--write", "UPDATE OfflinePhoto SET fileName = '../../evil/x.jpg'")
    try FileManager.default.createDirectory(atPath: shop.path("out"), withIntermediateDirectories: true)
    try shop.done("attach", "export", uuid, "@out")
    #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("out")).count == 1)
    #expect(!FileManager.default.fileExists(atPath: shop.path("evil")))
  }

  @Test("Removing a photo that was never sent removes its file at once")
  func aRemovedPhotoTakesItsFileAlongWhenNobodyHasToBeTold() throws {
    let uuids = try add("rocket.jpg", "retina.jpg")
    #expect(try shop.done("attach", "remove", uuids[0], "--json").object()["deleted"] as? Int == 1)
    #expect(try stored().count == 2)
    #expect(try shop.run("attach", "remove", uuids[0]).status == 4)
    #expect(try shop.run("attach", "export", uuids[0], "@x.jpg").status == 4)
    try shop.done("delete", "Room", Workshop.room)
    #expect(try shop.done("attach", "list", "--json").rows().isEmpty)
  }

  @Test("A damaged file is named and ends with exit code 5")
  func damageIsNamedAndEndsWithFive() throws {
    let uuids = try add("rocket.jpg", "retina.jpg")
    let file = try #require(
      try shop.done("query", "SELECT localPath FROM OfflinePhoto ORDER BY photoId", "--json").rows()[0]["localPath"]
        as? String)
    var content = try bytes("v.vault/" + file)
    content[content.count / 2] ^= 4
    try content.write(to: URL(fileURLWithPath: shop.path("v.vault/" + file)))
    let verified = try shop.run("attach", "verify", "--json")
    #expect(verified.status == 5)
    let problems = try #require(try verified.object()["problems"] as? [[String: Any]])
    #expect(problems.map { $0["kind"] as? String } == ["damaged"])
    #expect(problems.map { $0["file"] as? String } == [file])
    let named = try #require(problems[0]["attachments"] as? [[String: Any]])
    #expect(named.map { $0["fileName"] as? String } == ["rocket.jpg"])
    #expect(try shop.run("attach", "export", uuids[0], "@x.jpg").status == 5)
    #expect(!FileManager.default.fileExists(atPath: shop.path("x.jpg")))
    try shop.done("attach", "export", uuids[1], "@y.jpg")
    #expect(try bytes("y.jpg") == bytes("retina.jpg"))
    #expect(try shop.run("doctor").status == 5)
  }

  @Test("Exporting an evicted file queues its download and ends with exit code 7")
  func whatIsNotHereIsAskedForAndEndsWithSeven() throws {
    let uuid = try add("rocket.jpg")[0]
    try shop.done(
      "query", "--write", "UPDATE AttachmentContent SET full = 'evicted', serverHasFull = 1, fullBytes = NULL")
    let ran = try shop.run("attach", "export", uuid, "@x.jpg")
    #expect(ran.status == 7 && ran.errors.contains("fieldvault sync"), "\(ran.errors)")
    let wanted = try shop.done(
      "query", "SELECT status FROM AttachmentTransfer WHERE direction = 'download'", "--json"
    ).rows()
    #expect(wanted.map { $0["status"] as? String } == ["pending"])
    // Its file belonged to nothing any more.
    #expect(try stored().map { $0.hasSuffix(".thumbnail") } == [true])
  }

  @Test("The status counts waiting files and warns near the storage limit")
  func statusCountsWhatWaitsAndWarnsNearTheLimit() throws {
    _ = try add("rocket.jpg")
    func files() throws -> [String: Any] {
      try #require(try shop.done("status", "--json").object()["attachments"] as? [String: Any])
    }
    let first = try files()
    #expect(first["waiting"] as? Int == 2 && first["failed"] as? Int == 0)
    #expect(first["bytesWaiting"] as? Int == first["bytesUsed"] as? Int)
    #expect((first["bytesUsed"] as? Int ?? 0) > 112_525 && first["nearLimit"] as? Bool == false)
    #expect(try !shop.done("status").errors.contains("will soon be evicted"))
    let told = try shop.done("config", "set", "storage-limit", "120KB")
    #expect(told.output.contains("storage-limit is now 120KB"))
    #expect(try files()["nearLimit"] as? Bool == true)
    #expect(try shop.done("status").errors.contains("will soon be evicted"))
    #expect(try shop.done("config", "get", "--json").object()["storage-limit"] as? String == "120KB")
    // Files that the server lacks stay, whatever the limit is.
    #expect(try stored().count == 2)
  }

  @Test(
    "An invalid setting is refused by name",
    arguments: [
      ["storage-limit", "lots"], ["upload", "sealed"], ["download", "some"], ["recompress", "5"],
      ["strip-location", "maybe"],
      ["unmetered-files", "1"],
    ])
  func aBadSettingIsRefused(_ words: [String]) throws {
    let ran = try shop.run(["config", "set"] + words)
    #expect(ran.status == 10 && ran.errors.contains(words[0]), "\(ran.errors)")
  }

  /// A process has few descriptors, and a day has many photos.
  @Test("More files than descriptors can be attached at once")
  func manyFilesGoInAtOnce() throws {
    let bash = try #require(tool("bash"))
    let names = (0..<60).map { "photo\($0).bin" }
    for (index, name) in names.enumerated() { try shop.write([UInt8](repeating: UInt8(index), count: 100), to: name) }
    let ran = try run(
      bash,
      [
        "-c", "ulimit -n 40; exec \"$0\" \"$@\"", try builtProgram("fieldvault"), "attach", "add", "Room",
        Workshop.room,
      ]
        + names.map(shop.path), environment: shop.environment())
    #expect(ran.status == 0, "\(ran.errors)")
    #expect(try stored().count == 60)
  }

  @Test("An attachment that fills the disk leaves no file")
  func aFileThatGrowsTooLargeForTheDiskLeavesNothing() throws {
    let bash = try #require(tool("bash"))
    try shop.write([UInt8](repeating: 7, count: 8 << 20), to: "big.bin")
    // No file may be larger than 4 MiB from here on: the write that crosses the border fails, as on a full disk.
    let ran = try run(
      bash,
      [
        "-c", "ulimit -f 4096; trap '' XFSZ; exec \"$0\" \"$@\"", try builtProgram("fieldvault"), "attach", "add",
        "Room",
        Workshop.room, shop.path("big.bin"),
      ], environment: shop.environment())
    #expect(ran.status == 1, "\(ran.errors)")
    #expect(ran.errors.contains("attachments/"), "\(ran.errors)")
    #expect(try stored().isEmpty)
    #expect(try shop.count("OfflinePhoto") == 0)
  }

  @Test(
    "A file too large for the disk is refused before anything is written",
    .enabled(if: Mount.isPossible, "only root may mount the file systems of this test"))
  func aDiskWithoutRoomIsSeenBeforeAnythingIsWritten() throws {
    let disk = try Mount(at: shop.path("disk"), size: "12m")
    try FileManager.default.copyItem(atPath: shop.path("v.vault"), toPath: shop.path("disk/v.vault"))
    try shop.write([UInt8](repeating: 7, count: 16 << 20), to: "big.bin")
    let ran = try shop.run("attach", "add", "Room", Workshop.room, "@big.bin", vault: "disk/v.vault")
    #expect(ran.status == 9 && ran.errors.contains("big.bin"), "\(ran.errors)")
    #expect(try FileManager.default.subpathsOfDirectory(atPath: shop.path("disk/v.vault/attachments")).isEmpty)
    // The export says so, too.
    let uuid = try shop.done("attach", "add", "Room", Workshop.room, "@retina.jpg", vault: "disk/v.vault")
      .output.trimmingCharacters(in: .whitespacesAndNewlines)
    let small = try Mount(at: shop.path("small"), size: "100k")
    let out = try shop.run("attach", "export", uuid, "@small/x.jpg", vault: "disk/v.vault")
    #expect(out.status == 9, "\(out.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("small")).isEmpty)
    withExtendedLifetime((disk, small)) {}
  }

  @Test(
    "The memory of an attach does not grow with the file",
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
  func memoryDoesNotGrowWithTheFile() throws {
    func peak(_ bytes: Int) throws -> Int {
      try shop.write("", to: "\(bytes).bin")
      #expect(truncate(shop.path("\(bytes).bin"), off_t(bytes)) == 0)
      let ran = try shop.run(
        ["attach", "add", "Room", Workshop.room, "@\(bytes).bin"], environment: ["FIELDVAULT_PAGE_CACHE": "2"],
        watchingMemory: true)
      #expect(ran.status == 0, "\(ran.errors)")
      return ran.peakMemory
    }
    let (small, large) = (try peak(1 << 20), try peak(200 << 20))
    #expect(large - small < 16 << 20, "\(small >> 20) MiB, and \(large >> 20) MiB for 200 times as much")
  }
}
