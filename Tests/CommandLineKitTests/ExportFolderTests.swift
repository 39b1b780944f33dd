import CommandLineKit
import Foundation
import Platform
import TestSupport
import Testing

/// The folder of an export, which appears completely or not at all.
@Suite struct ExportFolderTests {
  private let folder: TemporaryFolder
  private var place: String { folder.path + "/export" }

  init() throws { folder = try TemporaryFolder() }

  private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

  @Test("A folder appears with its lines and files when it is published, also in place of an empty one")
  func published() throws {
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    let export = try ExportFolder(at: place + "/")
    for line in ["one", "two", "three"] { try export.append(line, to: "A.ndjson") }
    try export.append("other", to: "B.ndjson")
    try Data("photo".utf8).write(to: URL(filePath: try export.path(ofFile: "a.jpg")))
    try export.filter("A.ndjson") { $0 != Array("two".utf8) }
    try export.append("four", to: "A.ndjson")
    #expect(try names() == ["export", "export.part"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
    try export.publish()
    #expect(try names() == ["export"] && export.lineCount == 4)
    #expect(try String(contentsOfFile: place + "/A.ndjson", encoding: .utf8) == "one\nthree\nfour\n")
    #expect(
      try FileManager.default.subpathsOfDirectory(atPath: place).sorted() == [
        "A.ndjson", "B.ndjson", "files", "files/a.jpg",
      ])
  }

  @Test("A folder with files, a file, and the folder of a running export are refused and stay as they are")
  func refused() throws {
    for (name, isFolder) in [("full", true), ("file", false)] {
      let path = "\(folder.path)/\(name)"
      if isFolder { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
      try Data("mine".utf8).write(to: URL(filePath: isFolder ? path + "/x" : path))
      #expect(throws: FileError.self) { try ExportFolder(at: path) }
    }
    try FileManager.default.createDirectory(atPath: place + ".part", withIntermediateDirectories: false)
    #expect(throws: FileError.self) { try ExportFolder(at: place) }
    try FileManager.default.removeItem(atPath: place + ".part")
    let running = try ExportFolder(at: place)
    try running.append("line", to: "A.ndjson")
    let error = #expect(throws: FileError.self) { try ExportFolder(at: place) }
    #expect(error?.message.contains("another export is running") == true)
    try running.publish()
    #expect(try names() == ["export", "file", "full"])
    #expect(try String(contentsOfFile: place + "/A.ndjson", encoding: .utf8) == "line\n")
  }

  @Test("The remains of a killed export are replaced, and an abandoned export leaves nothing") func remains() throws {
    try FileManager.default.createDirectory(atPath: place + ".part", withIntermediateDirectories: false)
    for name in [".exporting", "A.ndjson"] {
      try Data("old".utf8).write(to: URL(filePath: "\(place).part/\(name)"))
    }
    let export = try ExportFolder(at: place)
    try export.append("new", to: "A.ndjson")
    export.abandon()
    #expect(try names() == [])
  }
}
