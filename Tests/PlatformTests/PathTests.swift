import TestSupport
import Testing

@testable import Platform

@Suite struct PathTests {
  @Test("The folder and the name of a path are found by bytes")
  func parts() {
    for (path, parent, name) in [
      ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b/", "a/b", "b"), ("/", "/", "/"),
      ("/a/\u{301}b", "/a", "\u{301}b"), ("/\u{301}", "/", "\u{301}"), ("a/\u{FE0F}", "a", "\u{FE0F}"),
    ] {
      #expect(Files.parent(of: path).unicodeScalars.elementsEqual(parent.unicodeScalars), "\(path)")
      #expect(Files.name(of: path).unicodeScalars.elementsEqual(name.unicodeScalars), "\(path)")
    }
  }

  @Test("Folder and name make up the path")
  func reassembly() {
    var random = Seeded()
    for round in 0..<500 {
      let letters = ["a", "\u{301}", "é", "🙂", ".", " ", "\u{200D}", "\u{FE0F}", "\r"]
      let names = (0...round % 4).map { _ in
        (0...Int.random(in: 0...3, using: &random)).map { _ in letters.randomElement(using: &random) ?? "a" }.joined()
      }
      let path = "/" + names.joined(separator: "/")
      let parent = Files.parent(of: path)
      let whole = (parent == "/" ? "" : parent) + "/" + Files.name(of: path)
      #expect(Array(whole.utf8) == Array(path.utf8), "seed \(random.seed)")
      #expect(Array(Files.name(of: path).utf8) == Array((names.last ?? "").utf8), "seed \(random.seed)")
    }
  }
}
