import Foundation
import Testing

/// Ids of records, operations and conflicts on the command line.
@Suite("Ids on the command line")
struct IdentifierCommandTests {
  /// Adds rooms whose UUIDs begin alike.
  private func addRooms(_ count: Int, to shop: Workshop) throws -> [String] {
    try (1...count).map { number in
      let uuid = "0bcd0000-0000-7000-8000-00000000000\(number)"
      try shop.done("put", "Room", "title=Room \(number)", "projectId=1", "--uuid", uuid, "-q")
      return uuid
    }
  }

  @Test("A record is named by a unique prefix of its uuid in any case, with or without hyphens")
  func aUniquePrefixNamesARecord() throws {
    let shop = try Workshop()
    let whole = try shop.done("get", "Room", Workshop.room, "--json").output
    for word in ["01a1fd64", "01A1FD64-7573", "01a1fd6475737000", "01a1fd64757370008e9446657598a452", "1"] {
      #expect(try shop.done("get", "Room", word, "--json").output == whole, "\(word)")
    }
    try shop.done("put", "Room", "--uuid", "01a1", "title=Loft", "-q")
    #expect(try shop.done("get", "Room", "01a1", "--json").object()["title"] as? String == "Loft")
    let why = try shop.done("why", "Room", "01a1fd64", "--json").object()
    #expect(why["syncStatus"] as? String == "pending")
    #expect(try shop.done("delete", "Room", "01a1fd", "--json").object()["deleted"] as? Int == 1)
    #expect(try shop.done("undelete", "Room", "01a1fd", "--json").object()["restored"] as? Int == 1)
  }

  @Test("A reference is given by a prefix or a local id")
  func aReferenceIsGivenByAPrefix() throws {
    let shop = try Workshop()
    let made = try shop.done("put", "Room", "title=Cellar", "projectId=01a1fd", "--json").object()
    #expect(made["projectId"] as? Int == 1)
    let unknown = try shop.run("put", "Room", "title=x", "projectId=0eee")
    #expect(unknown.status == 4)
    #expect(unknown.errors.contains("no Project whose id begins with '0eee'"), "\(unknown.errors)")
  }

  @Test("An ambiguous prefix ends with exit code 2 and lists five candidates and the number of others")
  func anAmbiguousPrefixListsItsCandidates() throws {
    let shop = try Workshop()
    let uuids = try addRooms(7, to: shop)
    let ran = try shop.run("get", "Room", "0bcd")
    #expect(ran.status == 2)
    #expect(ran.output.isEmpty)
    #expect(
      ran.errors == """
        error: '0bcd' is the beginning of 7 Room ids
        \(uuids.prefix(5).map { "  \($0)" }.joined(separator: "\n"))
          and 2 more
        hint:  give more characters of the id

        """)
    let two = try shop.run("delete", "Room", "0bcd0000-0000-7000-8000-000000000001", "0bcd")
    #expect(two.status == 2)
    #expect(try shop.count("OfflineRoom WHERE isDeleted = 0") == 8)
  }

  @Test("Commands for live records ignore deleted ones, and undelete ignores live ones")
  func aPrefixIsUniqueAmongTheRecordsOfItsCommand() throws {
    let shop = try Workshop()
    let uuids = try addRooms(2, to: shop)
    try shop.done("delete", "Room", uuids[0], "-q")
    #expect(try shop.done("get", "Room", "0bcd", "--json").object()["uuid"] as? String == uuids[1])
    try shop.done("undelete", "Room", "0bcd", "-q")
    #expect(try shop.count("OfflineRoom WHERE isDeleted = 0") == 3)
    try shop.done("delete", "Room", uuids[0], uuids[1], "-q")
    let gone = try shop.run("delete", "Room", uuids[0].prefix(36).description)
    #expect(gone.status == 4)
    #expect(gone.errors.contains("already deleted"))
  }

  @Test(
    "A word that can be no id ends with exit code 2, an unknown id with 4",
    arguments: [
      (["get", "Room", "xyz"], Int32(2), "UUID is a uuid, at least 4 of its first characters, or a local id"),
      (["get", "Room", "0bc"], 2, "at least 4"),
      (["get", "Room", "0bcd"], 4, "no Room whose id begins with '0bcd'"),
      (["get", "Room", "99"], 4, "no Room with this local id"),
      // Digits without a leading zero are a local id, even if a uuid begins with them.
      (["get", "Room", "1000"], 4, "no Room with this local id"),
      (["outbox", "show", "xyz"], 2, "ID is an id"),
      (["outbox", "show", "nothing"], 4, "no operation whose id begins with 'nothing'"),
      (["outbox", "show", "0bcd"], 4, "no operation whose id begins with '0bcd'"),
      (["conflicts", "show", "12345"], 4, "no conflict whose id begins with '12345'"),
      (["attach", "export", "0bcd", "x"], 4, "no attachment whose id begins with '0bcd'"),
    ])
  func aWordThatNamesNothing(_ arguments: [String], _ status: Int32, _ text: String) throws {
    let shop = try Workshop()
    try shop.done("put", "Room", "title=x", "projectId=1", "--uuid", "1000abcd-0000-7000-8000-000000000001", "-q")
    let ran = try shop.run(arguments)
    #expect(ran.status == status)
    #expect(ran.errors.contains(text), "\(ran.errors)")
  }

  @Test("A hyphen makes eight digits the beginning of a uuid")
  func aHyphenMakesDigitsAPrefix() throws {
    let shop = try Workshop()
    let uuid = "12345678-0000-7000-8000-000000000001"
    try shop.done("put", "Room", "title=x", "projectId=1", "--uuid", uuid, "-q")
    #expect(try shop.run("get", "Room", "12345678").status == 4)
    #expect(try shop.done("get", "Room", "12345678-", "--json").object()["uuid"] as? String == uuid)
  }

  @Test("An operation is named by a unique prefix of its id")
  func aPrefixNamesAnOperation() throws {
    let shop = try Workshop()
    let ids = try shop.done("outbox", "--json").rows().compactMap { $0["operationId"] as? String }
    #expect(ids.count == 2)
    let common = zip(ids[0], ids[1]).prefix { $0 == $1 }.count
    let prefix = String(ids[1].prefix(max(common + 1, 4)))
    let shown = try shop.done("outbox", "show", prefix, "--json").object()
    #expect(shown["operationId"] as? String == ids[1])
    let ambiguous = try shop.run("outbox", "discard", String(ids[0].prefix(4)))
    #expect(ambiguous.status == 2)
    for id in ids { #expect(ambiguous.errors.contains(id)) }
    #expect(
      try shop.done("outbox", "discard", prefix, "--yes", "--json").object()["discarded"] as? [String] == [ids[1]])
  }

  @Test("The followed projects are given by prefixes")
  func aPrefixNamesAProject() throws {
    let shop = try Workshop()
    let set = try shop.done("config", "set", "projects", "01a1fd64", "--json").object()
    #expect(set["projects"] as? String == Workshop.project)
  }
}
