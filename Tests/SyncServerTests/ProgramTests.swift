import CommandLineKit
import Testing

@testable import FieldVaultServerCommand

@Suite struct ProgramTests {
  @Test("The description of the program has no problems") func descriptionHoldsTogether() {
    #expect(ServerProgram.program.problems() == [])
  }
}
