import CipherSQL

/// Uses the types that are generated for difficult names, each in every statement that it has.
func useNames(_ database: Database) throws -> String {
  try database.write { db in
    let values: [SQLArgument] = [.integer(7), .real(0.5), .text("x"), .blob([0, 255]), .null]
    for (number, value) in values.enumerated() {
      var item = try db.insert(
        OrderItem(class: "tool", selfValue: "s", db: "d\(number)", string: .aB2, anything: value))
      check(item.key == item.keyValue && item.keyValue == Int64(number + 1))
      (item.airMover, item.airMover2, item.oddName, item.`init`) = ("one", "two", "three", "four")
      try db.update(item)
      item.qualifierValue = "five"
      try db.update(item) { [$0.qualifierValue] }
      let stored = try OrderItem.fetch(db, db: "d\(number)")
      check(stored?.airMover == "one" && stored?.airMover2 == "two" && stored?.oddName == "three")
      check(stored?.`init` == "four" && stored?.qualifierValue == "five" && stored?.doubled == item.keyValue * 2)
      check(stored?.today == .epoch && (stored?.anything ?? .null) == value, "\(value)")
      let again = try db.upsert(item, onConflict: { [$0.keyValue] }, updating: { [$0.class] })
      check(again.class == "tool" && again.echo == (value == .null ? .integer(0) : value))
      check(try OrderItem.where { $0.anything == value }.count(db) == 1)
    }
    try db.insert(ConnectionRecord(oddName: "c", orderId: 1))
    var pair = try db.insert(Values(empty: "a", where: "b"))
    pair.statement = "s"
    try db.update(pair)
    check(try db.find(Values.self, pair.key)?.statement == "s")
    check(try SelectView.all.fetch(db).count == 5)
  }
  let rows = try database.read { db in try SchemaQueries.class(db, selfValue: "tool", db: "d1", rows: 1) }
  return "\(rows.count) row \(rows[0].selfValue)"
}

/// Ends the program when a condition does not hold.
private func check(_ condition: Bool, _ what: String = "", line: Int = #line) {
  precondition(condition, "line \(line): \(what)")
}
