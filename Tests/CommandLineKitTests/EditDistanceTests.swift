import CommandLineKit
import TestSupport
import Testing

@Suite("Edit distance")
struct EditDistanceTests {
  @Test(
    "The edit distance counts insertions, deletions, replacements and swaps",
    arguments: [
      ("", "", 0), ("", "abc", 3), ("list", "list", 0), ("list", "lst", 1), ("list", "lsit", 1), ("list", "last", 1),
      ("kitten", "sitting", 3), ("ca", "abc", 2), ("naïve", "naive", 1), ("漢字", "字漢", 1),
    ])
  func examples(a: String, b: String, distance: Int) {
    #expect(editDistance(a, b) == distance)
  }

  @Test("The edit distance is a metric") func isAMetric() {
    var random = Seeded(of: "laws of edit distance")
    func word() -> String {
      (0..<Int.random(in: 0...7, using: &random)).map { _ in random.pick(["a", "b", "c"]) }.joined()
    }
    for _ in 0..<3000 {
      let (a, b, c) = (word(), word(), word())
      let seed: Comment = "seed \(random.seed): \(a), \(b), \(c)"
      #expect(editDistance(a, a) == 0, seed)
      #expect((editDistance(a, b) == 0) == (a == b), seed)
      #expect(editDistance(a, b) == editDistance(b, a), seed)
      #expect(editDistance(a, c) <= editDistance(a, b) + editDistance(b, c), seed)
      #expect(editDistance(a, b) <= max(a.count, b.count), seed)
      #expect(editDistance(a, b) >= abs(a.count - b.count), seed)
    }
  }

  @Test(
    "The nearest name is the one that was meant",
    arguments: [
      ("lsit", "list"), ("LIST", "list"), ("pt", "put"), ("complet", "completions"),
      ("atmosphericlog", "AtmosphericLog"),
      ("AtmosfericLogs", "AtmosphericLog"), ("AtmosphericL", "AtmosphericLog"),
    ])
  func suggestions(word: String, meant: String) {
    let names = ["get", "put", "list", "completions", "AtmosphericLog"]
    #expect(nearest(to: word, in: names) == meant)
  }

  @Test("Nothing is suggested for a word that is far from all", arguments: ["", "x", "banana", "gobble", "--"])
  func farWords(word: String) {
    #expect(nearest(to: word, in: ["get", "put", "list", "completions"]) == nil)
  }
}
