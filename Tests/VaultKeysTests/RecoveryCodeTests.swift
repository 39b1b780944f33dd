import Platform
import Testing

@testable import VaultKeys

@Suite struct RecoveryCodeTests {
  private func parses(_ text: String) -> Bool {
    code { _ = try RecoveryCode(parsing: secure(text)) } == nil
  }

  @Test("A recovery code has eight groups of five characters and reads back") func aCodeIsEightGroupsThatReadBack()
    throws
  {
    let code = try RecoveryCode.random()
    let written = text(try code.text())
    #expect(written.utf8.count == 47)
    #expect(written.split(separator: "-").map(\.utf8.count) == [5, 5, 5, 5, 5, 5, 5, 5])
    #expect(try RecoveryCode(parsing: secure(written)).secret.isEqual(to: code.secret))
    #expect(code.secret.count == 20)
  }

  @Test("A recovery code accepts lower case, look-alike letters and any separators") func aCodeIsReadAsPeopleTypeIt()
    throws
  {
    // 20 bytes of zeros give only 0 before the checks; 1 comes from the numbers of the groups.
    let zeros = try RecoveryCode.random(from: RandomSource { $0.initializeMemory(as: UInt8.self, repeating: 0) })
    #expect(text(try zeros.text()) == "00000-00001-00002-00003-00004-00005-00006-00007")
    #expect(parses("ooooo oooOI-00002\t00003\r\n0000400005 0000600007\n"))
    #expect(parses("00000-0000l-00002-00003-00004-00005-00006-00007"))
    let code = try RecoveryCode.random()
    #expect(parses(text(try code.text()).lowercased()))
  }

  @Test("Each single wrong or missing character of a recovery code is detected") func everySingleSlipIsFound() throws {
    let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZU*".utf8)
    let written = plain(try RecoveryCode.random().text())
    for index in written.indices where written[index] != UInt8(ascii: "-") {
      for slip in alphabet where slip != written[index] {
        var typed = written
        typed[index] = slip
        #expect(code { _ = try RecoveryCode(parsing: secure(bytes: typed)) } == .badRecoveryCode)
      }
      var short = written
      short.remove(at: index)
      #expect(code { _ = try RecoveryCode(parsing: secure(bytes: short)) } == .badRecoveryCode)
    }
  }

  @Test("Swapped characters and groups of a recovery code are detected") func swappedCharactersAndGroupsAreFound()
    throws
  {
    let groups = text(try RecoveryCode.random().text()).split(separator: "-").map { Array($0.utf8) }
    for (group, content) in groups.enumerated() {
      for one in 0..<5 {
        for other in 0..<one where content[one] != content[other] {
          var swapped = groups
          swapped[group].swapAt(one, other)
          #expect(!parses(String(decoding: swapped.joined(), as: UTF8.self)))
        }
      }
      for other in 0..<group where groups[other] != content {
        var swapped = groups
        swapped.swapAt(group, other)
        #expect(!parses(String(decoding: swapped.joined(), as: UTF8.self)))
      }
    }
  }

  @Test("The message names the mistyped group of a recovery code") func theMessageNamesTheGroup() {
    #expect {
      _ = try RecoveryCode(parsing: secure("00000-00001-00002-00003-00004-00005-00006-00008"))
    } throws: {
      ($0 as? KeyError)?.message == "group 8 of the recovery code is mistyped"
    }
  }
}
