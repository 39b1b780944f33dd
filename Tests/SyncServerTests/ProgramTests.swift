import CommandLineSupport
import Testing

@testable import fieldvault_server

@Suite struct ProgramTests {
  @Test func descriptionHoldsTogether() {
    #expect(ServerProgram.program.problems() == [])
  }
}
