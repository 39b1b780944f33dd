import CipherSQL
import Foundation
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore
@testable import RESTRemote

@Suite struct RouteFileTests {

  /// Returns the problems of a route file for the range vault, one text each.
  private func problems(_ json: String) throws -> [String] {
    let folder = try TemporaryFolder()
    let vault = try RangeDevice.makeVault(folder)
    do throws(RouteFileError) {
      _ = try RouteFile.routes(json: json, for: vault)
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  private func file(_ entities: String) -> String {
    #"{"format": 1, "service": "x", "entities": {\#(entities)}}"#
  }

  @Test("The shipped routes are valid") func theRoutesThatShipAreRight() throws {
    #expect(try problems(RangeAPI.routeFile()) == [])
  }

  /// A mistake and the expected message.
  @Test(
    "Each mistake in a route file is reported with its location",
    arguments: [
      (
        #""DopeEntry": {"create": "POST /dope", "fields": {"distance": "distance"}, "repeat": {"mayDuplicate": true}}"#,
        "entities.DopeEntry.create: sessionId is neither in the path nor in a field, so the API cannot find the parent"
      ),
      (
        #""Session": {"create": "POST /sessions"}"#,
        "entities.Session.repeat: it does not define how to repeat a request after a lost response"
      ),
      (#""Sesion": {"create": "POST /sessions"}"#, "entities.Sesion: this vault has no synced entity 'Sesion'"),
      (
        #""Session": {"create": "POST /s/{rifleSetupId}", "repeat": {"mayDuplicate": true}}"#,
        "entities.Session.create: {rifleSetupId} requires the id of a RifleSetup, which the API never sends"
      ),
      (
        #""Session": {"create": "POST /s/{id}", "repeat": {"mayDuplicate": true}}"#,
        "entities.Session.create: a new record has no {id} yet"
      ),
      (
        #""Session": {"create": "POST /s/{rifle}", "repeat": {"mayDuplicate": true}}"#,
        "entities.Session.create: Session has no {rifle}"
      ),
      (
        #""Session": {"update": "PATCH /sessions"}"#,
        "entities.Session.update: the path does not identify the record"
      ),
      (#""Session": {"create": "PUSH /sessions"}"#, "entities.Session.create: 'PUSH /sessions' is not a request"),
      (#""Session": {"create": "POST sessions"}"#, "entities.Session.create: 'sessions' is not a path"),
      (#""Session": {"create": "POST /s/{rifle"}"#, "entities.Session.create: '/s/{rifle' has a { without a }"),
      (#""Session": {"crate": "POST /sessions"}"#, "entities.Session.crate: unknown member 'crate'"),
      (
        #""Session": {"fields": {"noets": "notes"}, "list": {"request": "GET /s"}}"#,
        "entities.Session.fields.noets: Session has no shared field 'noets'"
      ),
      (
        #""Session": {"fields": {"notes": "text", "windSpeed": "text"}, "list": {"request": "GET /s"}}"#,
        "entities.Session.fields.windSpeed: notes and windSpeed are both 'text'"
      ),
      (
        #""Session": {"list": {"request": "GET /s", "page": {"number": "p"}}}"#,
        "entities.Session.list.page.count: it is missing"
      ),
      (
        #""AmmoLot": {"list": {"within": "Ammunition", "items": "lots"}}"#,
        "entities.AmmoLot.list.within: Ammunition has no list"
      ),
      (
        #""Session": {"list": {"within": "DopeEntry", "items": "a"}}, "DopeEntry": {"list": {"within": "Session", "items": "b"}}"#,
        "entities.DopeEntry.list.within: DopeEntry is within Session is within DopeEntry"
      ),
      (
        #""Session": {"list": {"request": "GET /s"}, "image": {"multipart": "POST /i"}}"#,
        "entities.Session.image: Session has no images"
      ),
      (
        #""Session": {"create": "POST /s", "repeat": {"lookUp": "GET /s"}}"#,
        "entities.Session.repeat.match: no field given"
      ),
    ])
  func aMistakeIsSaidWithItsPlace(_ entities: String, _ expected: String) throws {
    let found = try problems(file(entities))
    #expect(found.contains { $0.hasPrefix(expected) }, "\(found)")
  }

  @Test("Records that require each other are reported as a cycle") func recordsThatNeedEachOtherAreACircle() throws {
    let common = """
      serverId INTEGER, uuid TEXT NOT NULL UNIQUE, createdAt TEXT NOT NULL DEFAULT '', updatedAt TEXT NOT NULL DEFAULT '',
      lastSyncedAt TEXT, syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
      """
    let sql = """
      CREATE TABLE OfflineHen (henId INTEGER PRIMARY KEY, eggId INTEGER NOT NULL REFERENCES OfflineEgg (eggId), \(common)) STRICT;
      CREATE TABLE OfflineEgg (eggId INTEGER PRIMARY KEY, henId INTEGER REFERENCES OfflineHen (henId), \(common)) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName)
        VALUES ('Hen', 'OfflineHen', 'farm'), ('Egg', 'OfflineEgg', 'farm');
      """
    let farm = Schema(name: "farm", migrations: [MigrationFile(version: 1, name: "farm", sql: sql)])
    let folder = try TemporaryFolder()
    let vault = try Vault.create(
      at: folder.file("farm.vault"), schemas: [(SchemaSource(name: "farm", folder: nil), farm)],
      secret: keyFileSecret())
    let routes = file(
      #""Hen": {"create": "POST /eggs/{eggId}/hens", "repeat": {"mayDuplicate": true}}, "#
        + #""Egg": {"create": "POST /hens/{henId}/eggs", "repeat": {"mayDuplicate": true}}"#)
    let error = #expect(throws: RouteFileError.self) { _ = try RouteFile.routes(json: routes, for: vault) }
    #expect(
      error?.problems.map(\.message) == ["circular references between new records: Egg needs Hen needs Egg"])
  }

  @Test("Text that is not JSON is reported with its line") func textThatIsNoJSONIsSaidWithItsLine() throws {
    #expect(try problems("{\n\"format\": 1,\n}").first?.hasPrefix("line 3: ") == true)
    #expect(try problems("[]").first?.hasPrefix("it is not an object") == true)
    #expect(try problems("{}").contains { $0.hasPrefix("format: it is missing") })
  }

  /// The shipped file with one to three bytes changed at random is accepted, or refused with a message and a hint.
  @Test("A route file that is changed at random is accepted, or refused with a message and a hint")
  func aFileThatIsChangedAtRandomIsTakenOrRefusedWithAPlace() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("RouteFileTests seed \(seed)")
    var random = Seeded(seed)
    let bytes = Array(try RangeAPI.routeFile().utf8)
    let folder = try TemporaryFolder()
    let vault = try RangeDevice.makeVault(folder)
    for _ in 0..<400 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<changed.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: changed.remove(at: place)
        case 1: changed[place] = UInt8.random(in: 32...126, using: &random)
        default: changed.insert(UInt8.random(in: 32...126, using: &random), at: place)
        }
      }
      do throws(RouteFileError) {
        _ = try RouteFile.routes(json: String(decoding: changed, as: UTF8.self), for: vault)
      } catch {
        #expect(!error.problems.isEmpty && error.problems.allSatisfy { !$0.message.isEmpty && !$0.hint.isEmpty })
      }
    }
  }
}
