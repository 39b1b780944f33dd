import CommandLineKit
import Testing

@testable import FieldVaultServerCommand

@Suite struct ProgramTests {
  @Test func descriptionHoldsTogether() {
    #expect(ServerProgram.program.problems() == [])
  }
}
