/// The number of single-character insertions, deletions, replacements and swaps of neighbours between two words:
/// the unrestricted Damerau-Levenshtein distance, which is a metric.
///
/// - Complexity: O(*m* × *n*) time and memory.
public func editDistance(_ first: String, _ second: String) -> Int {
  let a = Array(first)
  let b = Array(second)
  if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
  // Row and column 0 are a wall of a cost that no path takes; row i + 1 is the first i characters of `a`.
  let wall = a.count + b.count
  let width = b.count + 2
  var cost = [Int](repeating: wall, count: (a.count + 2) * width)
  for i in 0...a.count { cost[(i + 1) * width + 1] = i }
  for j in 0...b.count { cost[width + j + 1] = j }
  var lastRow: [Character: Int] = [:]
  for i in 1...a.count {
    var lastColumn = 0
    for j in 1...b.count {
      let swapRow = lastRow[b[j - 1]] ?? 0
      let swapColumn = lastColumn
      let isSame = a[i - 1] == b[j - 1]
      if isSame { lastColumn = j }
      let replaced = cost[i * width + j] + (isSame ? 0 : 1)
      let removed = cost[i * width + j + 1] + 1
      let inserted = cost[(i + 1) * width + j] + 1
      let swapped = cost[swapRow * width + swapColumn] + (i - swapRow - 1) + 1 + (j - swapColumn - 1)
      cost[(i + 1) * width + j + 1] = min(min(replaced, removed), min(inserted, swapped))
    }
    lastRow[a[i - 1]] = i
  }
  return cost[(a.count + 1) * width + b.count + 1]
}

/// Returns the most similar candidate, or `nil` if no candidate is similar.
///
/// A candidate that begins with the word is similar from three characters on. Otherwise one mistake in every three
/// characters is allowed, at most three. Case does not matter. The earlier candidate wins a tie.
///
/// ```swift
/// nearest(to: "lsit", in: ["get", "list"])  // "list"
/// ```
public func nearest(to word: String, in candidates: some Sequence<String>) -> String? {
  let wanted = word.lowercased()
  let bound = min(3, (wanted.count + 2) / 3, wanted.count - 1)
  var best: (candidate: String, distance: Int)?
  var beginning: [String] = []
  for candidate in candidates {
    let name = candidate.lowercased()
    if wanted.count >= 3, name.hasPrefix(wanted) { beginning.append(candidate) }
    // The difference in length is a lower bound, which spares the table for most candidates.
    guard abs(name.count - wanted.count) <= bound else { continue }
    let distance = editDistance(wanted, name)
    if distance <= bound, distance < best?.distance ?? .max { best = (candidate, distance) }
  }
  if let best, best.distance <= 1 { return best.candidate }
  return beginning.count == 1 ? beginning.first : best?.candidate ?? beginning.first
}
