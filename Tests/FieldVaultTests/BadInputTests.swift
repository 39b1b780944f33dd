import Foundation
import Testing

/// Every mistake ends with the exit code of its kind and a message that names the place, and changes nothing.
@Suite
struct BadInputTests {
  private static let project = "projectId=\(Workshop.project)"

  @Test(
    "A wrong command line ends with exit code 2 and a hint",
    arguments: [
      BadCase([], 2, "no command given", "usage: fieldvault"),
      BadCase(["lst", "Project"], 2, "no command 'lst'", "did you mean 'list'?"),
      BadCase(["list", "Project", "--wher", "x"], 2, "no option '--wher'", "did you mean '--where'?"),
      BadCase(["list", "Room", "--limit", "-1"], 2, "--limit is a whole number from 0, not '-1'"),
      BadCase(["list", "Room", "--limit", "1.5"], 2, "--limit is a whole number from 0, not '1.5'"),
      BadCase(["list", "Room", "--order", "title:down"], 2, "FIELD, FIELD:asc or FIELD:desc"),
      BadCase(["list"], 2, "ENTITY is missing"),
      BadCase(["get", "Room"], 2, "UUID is missing"),
      BadCase(["get", "Room", "xyz"], 2, "UUID is a uuid, at least 4 of its first characters, or a local id"),
      BadCase(["get", "Room", "1", "2", "3"], 2, "too many arguments"),
      BadCase(["delete", "Room", "xyz"], 2, "UUID is a uuid, at least 4 of its first characters, or a local id"),
      BadCase(["put", "Room"], 2, "FIELD=VALUE"),
      BadCase(["put", "Room", "title"], 2, "a field must be given as FIELD=VALUE"),
      BadCase(["put", "Room", "=x"], 2, "a field must be given as FIELD=VALUE"),
      BadCase(["put", "Room", "--uuid", "xyz", "title=x"], 2, "--uuid is a uuid, at least 4 of its first characters"),
      BadCase(["query", "SELECT 1", "--param", "a"], 2, "--param takes NAME=VALUE"),
      BadCase(["import", "Room", "@passphrase"], 2, "unknown file extension", "add --format"),
      BadCase(["import", "Room", "@passphrase", "--format", "xml"], 2, "--format", "csv, ndjson"),
      .rooms("title\na\n", with: ["--map", "a"], 2, "--map takes FIELD=COLUMN"),
      BadCase(["export", "Room", "--format", "xml"], 2, "--format", "csv, ndjson"),
      BadCase(
        ["list", "Room", "--passphrase-file", "@passphrase", "--key-file", "@passphrase"], 2, "exclude each other"),
      BadCase(["list", "Room", "--vault", ""], 2, "no vault given"),
      BadCase(
        ["list", "Room"], environment: ["FIELDVAULT_PAGE_CACHE": "0"], 2,
        "FIELDVAULT_PAGE_CACHE must be a whole number"),
      BadCase(["list", "Room"], environment: ["FIELDVAULT_PAGE_CACHE": "a lot"], 2, "1 to 65536"),
      BadCase(["completions", "tcsh"], 2, "bash, zsh or fish, not 'tcsh'"),
      BadCase(["init"], 2, "--schema"),
      BadCase(["account"], 2, "export or delete"),
    ])
  func theCommandLineIsWrong(_ wrong: BadCase) throws { try wrong.check() }

  @Test(
    "A wrong secret ends with exit code 3, and an empty one with 2",
    arguments: [
      BadCase(
        ["list", "Room", "--passphrase-file", "@wrong"], files: ["wrong": [0x77, 0x0a]], 3, "the passphrase is wrong"),
      BadCase(["list", "Room", "--passphrase-file", "-"], input: "wrong\n", 3, "the passphrase is wrong"),
      BadCase(["list", "Room", "--passphrase-file", "@empty"], files: ["empty": []], 2, "the passphrase is empty"),
      BadCase(["list", "Room", "--passphrase-file", "-"], input: "\nsecond line\n", 2, "the passphrase is empty"),
      BadCase(["list", "Room", "--passphrase-file", "@nofile"], 3, "nofile", "no such file"),
      BadCase(["list", "Room"], environment: ["FIELDVAULT_PASSPHRASE_FILE": ""], 3, "there is no terminal"),
      BadCase(["list", "Room", "--key-file", "@passphrase"], 3, "a key file must have 32 bytes to 1 MiB"),
      BadCase(
        ["list", "Room", "--key-file", "@key"], files: ["key": Array(0..<64)], 3, "key-file"),
      BadCase(
        ["list", "Room", "--recovery-file", "@code"], files: ["code": Array("ABC\n".utf8)], 3, "recovery code"),
    ])
  func theSecretIsWrong(_ wrong: BadCase) throws { try wrong.check(.passphrase) }

  @Test(
    "An unknown vault, entity, field or record ends with exit code 4",
    arguments: [
      BadCase(["list", "Room", "--vault", "@no.vault"], 4, "no vault at", "fieldvault init"),
      BadCase(["list", "Room", "--vault", "@home"], 4, "is not a vault: it has no keyring.json"),
      BadCase(["list", "Room", "--vault", "@passphrase"], 4, "passphrase"),
      BadCase(["get", "Room", Workshop.nobody], 4, "no Room with this uuid"),
      BadCase(["get", "Room", Workshop.project], 4, "no Room with this uuid"),
      BadCase(["delete", "Room", Workshop.room, Workshop.nobody], 4, "no Room with this uuid"),
      BadCase(["export", "Projekt"], 4, "unknown entity 'Projekt'", "did you mean 'Project'?"),
      BadCase(["put", "Roum", "title=x"], 4, "unknown entity 'Roum'", "did you mean 'Room'?"),
      BadCase(["list", "OfflineRoum"], 4, "unknown entity 'OfflineRoum'", "did you mean 'OfflineRoom'?"),
      BadCase(["search", "x", "--entity", "Roum"], 4, "did you mean 'Room'?"),
      BadCase(["put", "Room", "titel=x"], 4, "Room has no field 'titel'", "did you mean 'title'?"),
      BadCase(["list", "Project", "--order", "titel"], 4, "Project has no field 'titel'", "did you mean 'title'?"),
      .rooms("title\na\n", with: ["--map", "titel=title"], 4, "no field 'titel'", "did you mean 'title'?"),
      .rooms("title\na\n", with: ["--set", "titel=x"], 4, "no field 'titel'", "did you mean 'title'?"),
      .rooms("title\na\n", with: ["--map", "level=lvl"], 4, "the file has no column 'lvl'", "its columns are title"),
      .file("a.json", #"[{"title":"a"},{"titel":"a"}]"#, 4, "no field 'titel'", "did you mean 'title'?"),
      BadCase(
        ["init", "--schema", "restoratio", "--vault", "@n.vault"], 4, "restoratio", "did you mean 'restoration'?"),
    ])
  func thereIsNoSuchThing(_ wrong: BadCase) throws { try wrong.check() }

  @Test(
    "A refused record ends with exit code 10 and names the field",
    arguments: [
      BadCase(["put", "Project", "status=broken", "title=y"], 10, "Project.status is not one of active, completed"),
      BadCase(["put", "Project", "status=active"], 10, "Project.title is missing"),
      BadCase(["put", "Room", "title=a", "projectId=99"], 10, "Room.projectId refers to a record that does not exist"),
      BadCase(
        ["put", "Room", "title=a", "projectId=\(Workshop.nobody)"], 10,
        "Room.projectId does not match the uuid of any Project"),
      BadCase(
        ["put", "Room", "title=a", "projectId=\(Workshop.room)"], 10,
        "Room.projectId does not match the uuid of any Project"),
      BadCase(["put", "Room", "title=a", project, "squareFootage=big"], 10, "Room.squareFootage is not a number"),
      BadCase(["put", "Room", "title=a", project, "squareFootage=-1"], 10, "Room.squareFootage breaks the rule"),
      BadCase(
        ["put", "Room", "title=a", project, "isAccessible=maybe"], 10, "Room.isAccessible is not true, false, 1 or 0"),
      BadCase(["put", "Room", "title=a", project, "isDirty=0"], 10, "Room.isDirty is maintained by FieldVault itself"),
      BadCase(["put", "Room", "--uuid", Workshop.room, "title="], 10, "Room.title"),
      BadCase(["put", "Room", "--uuid", Workshop.room, "squareFootage=-1"], 10, "Room.squareFootage breaks the rule"),
      BadCase(["put", "Room", "--from", "-"], input: #"[{"title":"a"}]"#, 10, "element 1: Room.projectId is missing"),
      BadCase(["put", "Room", "--from", "-"], input: "{", 10, "invalid JSON"),
      BadCase(["init", "--schema", "restoration"], 1, "already exists"),
    ])
  func theRecordIsRefused(_ wrong: BadCase) throws { try wrong.check() }

  @Test(
    "A refused import names the line and changes nothing",
    arguments: [
      .rooms("name\na\n", 10, "no column of the file is a field of Room", "the file has name"),
      .rooms("level\n1\n", 10, "line 2: title is missing"),
      .rooms("title,squareFootage\nok,1\nbad,-1\n", 10, "line 3: squareFootage breaks the rule squareFootage >= 0"),
      .rooms("title,squareFootage\nok,1\nbad,big\n", 10, "line 3: squareFootage is not a number"),
      .rooms("title,squareFootage\n\"two\nlines\",1\nbad,big\n", 10, "line 4: squareFootage is not a number"),
      .rooms("title,isAccessible\na,maybe\n", 10, "line 2: isAccessible is not true, false, 1 or 0"),
      .rooms(bytes: Array("title\nok\nb".utf8) + [0xff, 0x0a], 10, "line 3: field 1 is not valid UTF-8"),
      .rooms("title\n\"x\n", 10, "rooms.csv:2: the quote that opens here is never closed"),
      .rooms(
        "title\nok\n\"x\ny\n", with: ["--skip-invalid"], 10, "rooms.csv:3: the quote that opens here is never closed"),
      .rooms("title,levle\nok,1\n", 4, "rooms.csv:1: Room has no field 'levle'", "did you mean 'level'?"),
      .file("a.ndjson", "{\"title\":\"a\"}\n{\"levle\":1}\n", 4, "a.ndjson:2: Room has no field 'levle'"),
      .rooms("title\nok\n\"a\"b\n", 10, "line 3: text after a closing quote"),
      .rooms("title,level\nok,1\na\n", 10, "line 3: has 1 values instead of 2"),
      .rooms("title,level\nok,1\na,b,c\n", 10, "line 3: has 3 values instead of 2"),
      .rooms("uuid,title\n\(Workshop.room),again\n", 10, "line 2: uuid is already used by another record"),
      .rooms("uuid,title\n\(Workshop.nobody),a\n\(Workshop.nobody),b\n", 10, "line 3: uuid is already used"),
      .rooms("uuid,title\nxyz,again\n", 10, "line 2: uuid is not a UUID of 36 characters"),
      .rooms("title,locationId\nok,\nb,77\n", 10, "line 3: locationId refers to a record that does not exist"),
      .rooms(
        "title,locationId\nok,\nb,\(Workshop.project)\n", 10,
        "line 3: locationId does not match the uuid of any Location"),
      .rooms("title,title\na,b\n", 10, "Room.title would be set twice"),
      .rooms("", 10, "is empty", "the first line must contain the column names"),
      .rooms("\n\n", 10, "is empty"),
      .file("a.ndjson", "{\"title\":\"a\"}\n{\"title\"\n", 10, "line 2"),
      .file("a.ndjson", "{\"title\":\"a\"}\n[1]\n", 10, "line 2: is not a JSON object"),
      .file("a.json", #"[{"title":"a"},{"title":"#, 10, "a.json:1: invalid JSON"),
      .file("a.json", "[{\"title\":\"a\"},\n{\"title\":\"b\",}]", 10, "a.json:2: invalid JSON"),
      .file("a.json", "[{\"title\":\"a\"},\n\n{title:\"b\"}]", 10, "a.json:3: invalid JSON"),
      .file(
        "a.json", "[{\"title\":\"],\\\"\"},\n{\"title\":\"b\",\n\"level\":1},\n{\"levle\":1}]", 4,
        "a.json:4: Room has no field 'levle'"),
      BadCase(["import", "Room", "@nofile.csv"], 1, "nofile.csv", "No such file or directory"),
      BadCase(["import", "Room", "@home", "--format", "csv"], 1, "home"),
    ] as [BadCase])
  func theFileIsRefused(_ wrong: BadCase) throws { try wrong.check() }

  @Test(
    "A refused statement names the reason and changes nothing",
    arguments: [
      BadCase(["query", "SELECT * FROM nowhere"], 10, "no such table: nowhere"),
      BadCase(["query", "SELECT"], 10, "incomplete input"),
      BadCase(["query", ""], 10, "the text contains no statement"),
      BadCase(["query", "SELECT :a"], 10, "the parameter :a has no value"),
      BadCase(["query", "SELECT 1", "--param", "a=1"], 10, "the statement has no parameter :a"),
      BadCase(["query", "DELETE FROM OfflineProject"], 10, "this statement changes the vault", "add --write"),
      BadCase(["query", "CREATE TABLE Own (x)"], 10, "this statement changes the vault"),
      BadCase(
        ["query", "DROP TABLE OfflineRoom"], 10, "the table OfflineRoom belongs to a schema", "add a file NNNN_name.sql"
      ),
      BadCase(["query", "SELECT 1; DELETE FROM OfflineProject"], 10, "more than one statement"),
      BadCase(["query", "SELECT 1; DELETE FROM OfflineProject", "--write"], 10, "more than one statement"),
      BadCase(["query", "PRAGMA query_only = 0"], 10, "PRAGMA query_only must not be given a value"),
      BadCase(["query", "PRAGMA writable_schema = 1", "--write"], 10, "PRAGMA writable_schema is not allowed"),
      BadCase(["query", "ATTACH 'x.db' AS x"], 10, "ATTACH and VACUUM are not allowed"),
      BadCase(["query", "PRAGMA rekey = 'x'"], 10, "PRAGMA rekey is not allowed", "a key rotation changes the key"),
      BadCase(["query", "PRAGMA rekey = 'x'", "--write"], 10, "PRAGMA rekey is not allowed"),
      BadCase(["query", "PRAGMA cipher_log = 'log.txt'"], 10, "PRAGMA cipher_log is not allowed"),
      BadCase(["query", "COMMIT", "--write"], 10, "COMMIT is not allowed"),
      BadCase(
        ["query", "VACUUM INTO '/tmp/readable.db'", "--write"], 10, "ATTACH and VACUUM are not allowed",
        "a backup makes an encrypted copy"),
      BadCase(["query", "SELECT writefile('x','y')"], 10, "no such function: writefile"),
      BadCase(["query", "SELECT load_extension('x')"], 10, "the function load_extension is not allowed"),
      BadCase(["query", "INSERT INTO OfflineRoom (title) VALUES ('x')", "--write"], 10, "OfflineRoom.projectId"),
      BadCase(["query", "UPDATE OfflineRoom SET squareFootage = -1", "--write"], 10, "squareFootage >= 0"),
    ])
  func theSQLIsRefused(_ wrong: BadCase) throws { try wrong.check() }

  @Test(
    "SQL in a condition, an order or a name is refused",
    arguments: [
      BadCase(["list", "Project", "--where", "1=1; DROP TABLE OfflineProject"], 10, "not a single SQL expression"),
      BadCase(["list", "Project", "--where", "1) OR (1"], 10, "not a single SQL expression"),
      BadCase(["list", "Project", "--where", "title = 'x' --"], 10, "not a single SQL expression"),
      BadCase(["list", "Project", "--where", "1 /*"], 10, "not a single SQL expression"),
      BadCase(
        ["list", "Project", "--where", "1) UNION SELECT * FROM OfflineRoom --"], 10, "not a single SQL expression"),
      BadCase(["list", "Project", "--where", "(DELETE FROM OfflineRoom)"], 10, "near \"DELETE\": syntax error"),
      BadCase(["list", "Project", "--where", "load_extension('x')"], 10, "the function load_extension is not allowed"),
      BadCase(["list", "Project", "--where", "nix = 1"], 4, "Project has no field 'nix'"),
      BadCase(["list", "Room", "--order", "title; DROP TABLE OfflineRoom"], 4, "no field 'title; DROP"),
      BadCase(["list", "Room", "--order", "title:desc; DROP TABLE OfflineRoom"], 2, "FIELD:desc"),
      BadCase(["list", "Room", "--order", "(SELECT 1)"], 4, "no field '(SELECT 1)'"),
      BadCase(["list", "Room; DROP TABLE OfflineRoom"], 4, "unknown entity 'Room; DROP"),
      BadCase(["list", "sqlite_schema"], 4, "unknown entity 'sqlite_schema'"),
      BadCase(["put", "Room", "title = 'x'; DROP TABLE OfflineRoom; --=x"], 4, "no field 'title '"),
      BadCase(["put", "Room", "title\") VALUES (1); --=x"], 4, "no field 'title\")"),
      .rooms("title\na\n", with: ["--set", "title); DROP TABLE OfflineRoom; --=x"], 4, "no field 'title); DROP"),
      .rooms("title\na\n", with: ["--map", "title); DROP TABLE OfflineRoom; --=title"], 4, "no field 'title); DROP"),
      .rooms("title\na\n", with: ["--map", "locationId.name\"=title"], 4, "no field"),
    ] as [BadCase])
  func anInjectionIsRefused(_ wrong: BadCase) throws { try wrong.check() }
}
