import SyncModel
import Testing

@Suite struct HeldDeletionsTests {
  @Test("More than 20 deletions that are more than 5 % of the records are held until that many are accepted")
  func table() {
    for records in [0, 1, 20, 21, 100, 400, 419, 420, 421, 1_000, 100_000] {
      for deletions in [0, 1, 20, 21, 22, 50, 51, 5_000, 5_001] where deletions <= records {
        for accepted in [0, 20, 21, 5_000, Int.max] {
          let held = HeldDeletions(deletions: deletions, of: records, accepted: accepted)
          let isMany = deletions > 20 && Double(deletions) > Double(records) * 0.05
          #expect((held != nil) == (isMany && deletions > accepted), "\(deletions) of \(records), \(accepted) accepted")
          if let held { #expect(held.deletions == deletions && held.records == records) }
        }
      }
    }
  }
}
