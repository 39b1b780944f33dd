import CipherSQL

let database = try Database(path: CommandLine.arguments[1], key: PlainKey.random())
try Migrator(schemas: [SchemaSchema.schema]).apply(to: database)
try database.write { db in
  try db.insert(Item(name: "moisture meter", price: 189.0))
  try db.insert(Item(name: "probe", kind: .sparePart, price: 12.5))
}
let parts = try database.read { db in try Item.where { $0.kind == .sparePart }.fetch(db) }
let cheap = try database.read { db in try SchemaQueries.cheaperThan(db, price: 100) }
print("\(parts[0].name) costs \(parts[0].price); \(cheap.count) item below 100; \(try useNames(database))")
