/// One kind of work, done by the typed layer and by the C floor.
struct Benchmark {
  /// The name in the table.
  let name: String
  /// The ratio that is promised.
  let limit: Double
  /// How often each side does it in a round.
  let typed: () throws -> Void
  let floor: () throws -> Void
  /// Brings both databases back to where the next round begins; not measured.
  var prepare: () throws -> Void = {}
}

/// The times of the rounds of one benchmark.
struct Measurement {
  let name: String
  let limit: Double
  var typed: [Double] = []
  var floor: [Double] = []

  var typedMedian: Double { median(typed) }
  var floorMedian: Double { median(floor) }
  /// The median of the rounds' ratios: both sides of a round meet the same weather on the machine.
  var ratio: Double { median(zip(typed, floor).map { $0 / $1 }) }
  var holds: Bool { ratio <= limit }
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  guard !sorted.isEmpty else { return .nan }
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
