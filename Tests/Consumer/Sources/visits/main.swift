import FieldVault

// The program of the article "REST remotes", without a network: opens or creates the vault, saves a visit and lists all visits.
let arguments = CommandLine.arguments
let passphrase = try SecretSource.file(path: arguments[2]).readPassphrase()
let vault = try openVault(at: arguments[1], passphrase: passphrase)
let site = try vault.database.write { db in
  if let site = try Site.all.fetchFirst(db) { return site }
  return try db.insert(Site(name: "Quay"))
}
try vault.database.write { db in
  try db.insert(Visit(siteId: site.siteId, date: .nowInMilliseconds(), finding: "damp"))
}
for visit in try vault.database.read({ db in try VisitsQueries.visitsOfSite(db, siteId: site.siteId) }) {
  print("\(visit.finding) \(visit.isPending ? "(waits)" : "")")
}
print(try age(of: "Site", in: vault))
// The route file is checked against the tables.
let routes = try String(contentsOfFile: arguments[3], encoding: .utf8)
_ = try RouteFile.routes(json: routes, for: vault)
print("The route file fits the tables.")
