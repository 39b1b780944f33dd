import Testing

@testable import SyncModel

@Suite struct DigestSumTests {
  private func digest(_ random: inout Randomness) -> String {
    SyncValue.integer(Int64(bitPattern: random.next())).digest
  }

  @Test("A sum does not depend on the order, and a record that is removed leaves nothing")
  func isASum() {
    var random = Randomness()
    for _ in 0..<200 {
      let digests = (0..<Int.random(in: 1...20, using: &random)).map { _ in digest(&random) }
      var (sum, shuffled, parts) = (DigestSum(), DigestSum(), DigestSum())
      for digest in digests { sum.add(digest) }
      for digest in digests.shuffled(using: &random) { shuffled.add(digest) }
      for digest in digests {
        var one = DigestSum()
        one.add(digest)
        parts.add(one)
      }
      #expect(sum == shuffled && sum == parts && DigestSum(sum.summary) == sum)
      for digest in digests.shuffled(using: &random) { sum.remove(digest) }
      #expect(sum == DigestSum() && sum.summary == .none)
    }
  }

  @Test("A sum is taken modulo 2^256")
  func wraps() {
    var sum = DigestSum()
    sum.add(String(repeating: "f", count: 64))
    sum.add(String(repeating: "0", count: 63) + "3")
    #expect(sum.summary == DigestSummary(count: 2, digest: String(repeating: "0", count: 63) + "2"))
    sum.remove(String(repeating: "0", count: 63) + "3")
    #expect(sum.summary == DigestSummary(count: 1, digest: String(repeating: "f", count: 64)))
    #expect(DigestSum.init(DigestSummary(count: 1, digest: "0g")) == nil)
  }

  @Test(
    "A request names several buckets if they have few records together",
    arguments: [
      (1, [[0], [1], [2], [3], [4], [5]]), (2, [[0, 1], [2], [3], [4, 5]]), (64, [[0, 1, 2], [3], [4, 5]]),
      (0, [[0], [1], [2], [3], [4], [5]]),
    ])
  func requestsForBuckets(limit: Int, requests: [[Int]]) {
    let counts: [Int64] = [1_000, 900, 100, 5_000, 1_999, 1]
    let names = counts.indices.map { "0\($0)" }
    let summaries = zip(names, counts).map { ($0, DigestSummary(count: $1, digest: "d")) }
    let digests = BucketDigests(
      epoch: "one", buckets: Dictionary(summaries) { first, _ in first }, bucketLimit: limit)
    #expect(digests.requests(for: names) == requests.map { $0.map { names[$0] } })
  }

  @Test("The digest of no records is 64 zeros")
  func ofNothing() { #expect(DigestSummary.none == DigestSummary(count: 0, digest: String(repeating: "0", count: 64))) }

  @Test("A column counts unless it is computed or has the default it was added with")
  func counts() {
    let columns = DigestColumns(
      computed: ["sum"], addedDefaults: ["level": .null, "factor": 1, "big": .integer(1 << 53)])
    func digest(_ fields: SyncObject, _ columns: DigestColumns) -> String {
      RecordDigest("Room", "u", version: 1, createdAt: 1, updatedAt: 2, fields: fields, columns: columns).digest
    }
    let plain = digest(["title": "a"], DigestColumns())
    let one = SyncValue(real: 1) ?? .null
    #expect(
      digest(["title": "a", "sum": 3, "level": .null, "factor": one, "big": .integer(1 << 53)], columns) == plain)
    for (name, value) in [("level", SyncValue.text("")), ("factor", 2), ("big", .integer((1 << 53) + 1))] {
      #expect(digest(["title": "a", name: value], columns) != plain)
    }
    #expect(
      digest(["title": "a", "big": .integer((1 << 53) + 1)], columns)
        != digest(["title": "a", "big": .integer((1 << 53) + 2)], columns))
    #expect(
      RecordDigest("Room", "u", version: 1, createdAt: 1, updatedAt: 3, fields: ["title": "a"], columns: columns).digest
        != plain)
  }
}
