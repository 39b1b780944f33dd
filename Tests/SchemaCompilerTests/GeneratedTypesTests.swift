import Testing

@testable import SchemaCompiler

/// What SQL becomes in Swift.
@Suite struct GeneratedTypesTests {
  static let sql = """
    -- A reading of an instrument.
    CREATE TABLE air_reading (
      readingId INTEGER PRIMARY KEY,
      uuid TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16))))
        CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16),
      roomId INTEGER REFERENCES room (roomId) ON DELETE CASCADE,
      takenAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        CHECK (takenAt IS strftime('%Y-%m-%dT%H:%M:%fZ', takenAt)), -- when it was taken
      day TEXT CHECK (day IS date(day)),
      humidity REAL NOT NULL CHECK (humidity BETWEEN 0 AND 100), -- %
      kind TEXT NOT NULL DEFAULT 'air' CHECK (kind IN ('air', 'wood_floor', 'multi-unit', 'case')),
      tags TEXT CHECK (json_valid(tags)),
      raw BLOB,
      isFinal INTEGER NOT NULL DEFAULT 0 CHECK (isFinal IN (0, 1)),
      isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1))
    ) STRICT;

    CREATE TABLE room (
      roomId INTEGER PRIMARY KEY,
      title TEXT NOT NULL
    ) STRICT;

    CREATE TABLE pair (a TEXT NOT NULL, b INTEGER NOT NULL, note TEXT, PRIMARY KEY (a, b)) STRICT, WITHOUT ROWID;

    CREATE VIEW dampest AS SELECT roomId, max(humidity) AS humidity FROM air_reading GROUP BY roomId;
    """

  @Test("Generated properties have the types that the columns and their CHECKs declare")
  func propertiesHaveTheTypesThatTheChecksGive() throws {
    let folder = try SchemaFolder(["0001_readings.sql": Self.sql])
    let swift = try #require(try folder.compile()["0001_readings.swift"])
    #expect(
      swift.part(from: "/// A reading of an instrument.", upTo: "/// The identity of the record.") == """
        /// A reading of an instrument.
        public struct AirReading: KeyedRecord, SoftDeletable, Codable, Hashable, Identifiable {
          /// 0 until the database assigns a value.
          public var readingId: Int64
          /// The column `uuid`.
          public var uuid: UUID
          /// The column `roomId`.
          public var roomId: Int64?
          /// when it was taken
          public var takenAt: Date
          /// The column `day`.
          public var day: CalendarDay?
          /// %
          public var humidity: Double
          /// The column `kind`.
          public var kind: Kind
          /// The column `tags`.
          public var tags: JSONText?
          /// The column `raw`.
          public var raw: Data?
          /// The column `isFinal`.
          public var isFinal: Bool
          /// The column `isDeleted`.
          public var isDeleted: Bool

        """)
  }

  @Test("SQL defaults become defaults of the generated initializer") func defaultsOfSQLAreDefaultsOfSwift() throws {
    let swift = try #require(try SchemaFolder(["0001_readings.sql": Self.sql]).compile()["0001_readings.swift"])
    let initializer = swift.part(from: "public init(", upTo: ") {")
    for line in [
      "readingId: Int64 = 0,", "uuid: UUID = .version7(),", "roomId: Int64? = nil,",
      "takenAt: Date = .nowInMilliseconds(),", "humidity: Double,", "kind: Kind = .air,", "isFinal: Bool = false,",
    ] {
      #expect(initializer.contains(line), "\(line) is not among\n\(initializer)")
    }
  }

  @Test("The words of a CHECK list become the cases of a Swift enumeration") func wordsOfAListAreCases() throws {
    let swift = try #require(try SchemaFolder(["0001_readings.sql": Self.sql]).compile()["0001_readings.swift"])
    #expect(
      swift.part(from: "public enum Kind", upTo: "public static func decode") == """
          public enum Kind: String, SQLEnumeration {
            case air = "air"
            case woodFloor = "wood_floor"
            case multiUnit = "multi-unit"
            case `case` = "case"

        """)
  }

  @Test("A foreign key becomes a relationship in both directions") func referencesAreRelationships() throws {
    let swift = try #require(try SchemaFolder(["0001_readings.sql": Self.sql]).compile()["0001_readings.swift"])
    #expect(swift.contains("public static let room = ToOne<AirReading, Room, Int64>("))
    #expect(swift.contains("public static let airReadings = ToMany<Room, AirReading, Int64>("))
  }

  @Test("A key of several columns becomes a structure, and a view is read-only")
  func aKeyOfSeveralColumnsIsAStructureAndAViewIsReadOnly() throws {
    let swift = try #require(try SchemaFolder(["0001_readings.sql": Self.sql]).compile()["0001_readings.swift"])
    #expect(swift.contains("public struct Pair: KeyedRecord"))
    #expect(swift.contains("public struct Key: RecordKey, Codable {"))
    #expect(swift.contains("public struct DampestView: Record,"))
    #expect(swift.contains("public var humidity: Double?") || swift.contains("public var humidity: SQLArgument?"))
  }

  @Test("The compiler generates the same output for the same input") func theSameInputGivesTheSameBytes() throws {
    let folder = try SchemaFolder(["0001_readings.sql": Self.sql])
    #expect(try folder.compile() == folder.compile())
  }

  @Test("The generated code contains the SQL of the schema unchanged") func theSQLItselfIsCarriedUnchanged() throws {
    let odd = "CREATE TABLE t (x TEXT DEFAULT '\"\"\"#\\(1)') STRICT; -- \\#(2) \"\"\"##\n"
    let swift = try #require(try SchemaFolder(["0001_odd.sql": odd]).compile()["Schema.swift"])
    #expect(swift.contains("###\"\"\"\n\(odd)\n\"\"\"###"))
  }

  @Test("Columns whose names collide in Swift get names of their own")
  func difficultNames() throws {
    let swift = try #require(
      try SchemaFolder([
        "0001_names.sql": """
        CREATE TABLE "order item" (
          "key" INTEGER PRIMARY KEY, "class" TEXT NOT NULL, "self" TEXT, qualifier TEXT, "air-mover" TEXT, air_mover TEXT,
          "2nd" TEXT, "" TEXT, statement TEXT,
          string TEXT NOT NULL CHECK (string IN ('self', 'a-b', 'a_b', '', '+'))
        ) STRICT;
        CREATE TABLE connection ("odd ""name"" here" TEXT PRIMARY KEY) STRICT;
        CREATE TABLE "values" ("(" TEXT NOT NULL, "where" TEXT NOT NULL, PRIMARY KEY ("(", "where")) STRICT;
        """
      ]).compile()["0001_names.swift"])
    for line in [
      "public struct OrderItem: KeyedRecord", "public struct ConnectionRecord: KeyedRecord",
      "public struct Values: KeyedRecord", "public var keyValue: Int64", "public var `class`: String",
      "public var selfValue: String?", "public var qualifierValue: String?", "public var airMover: String?",
      "public var airMover2: String?", "public var _2nd: String?", "public var empty: String?",
      "try statement.bind(self.statement, at: 9)", "public var key: Key { self.keyValue }",
      "public enum StringName: String, SQLEnumeration", "case selfValue = \"self\"", "case aB = \"a-b\"",
      "case aB2 = \"a_b\"", "case empty = \"\"", "case empty2 = \"+\"",
    ] {
      #expect(swift.contains(line), "\(line) is not among\n\(swift)")
    }
  }
}
