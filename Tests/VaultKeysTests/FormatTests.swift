import Foundation
import TestSupport
import Testing

@testable import VaultKeys

/// The test vector of the format page is what this program writes, and what it opens.
@Suite struct FormatTests {
  private let documented: String
  private let phrase = "correct horse battery staple"
  private let keyFileText = KeyFile.header + (0..<32).map { String(format: "%02x", $0) }.joined() + "\n"
  private let databaseKey = (0x30..<0x50).map { UInt8($0) }
  private let recoveryText: String

  init() throws {
    let page = URL(fileURLWithPath: packagePath("Sources/VaultKeys/KeyringFormat.md"))
    let text = try String(contentsOf: page, encoding: .utf8)
    let block = text.components(separatedBy: "```json\n").last?.components(separatedBy: "```").first
    documented = try #require(block)
    let code = try RecoveryCode.random(from: KeyringSettings.fixed().randomness)
    recoveryText = VaultKeysTests.text(try code.text())
    #expect(text.contains("`\(recoveryText)`"), "the code of the vector is \(recoveryText)")
  }

  private var secrets: [UnlockSecret] {
    [
      passphrase(phrase), .keyFile(secure(keyFileText)), .recoveryCode(secure(recoveryText)),
      .system(secure(bytes: Array(0..<32))),
    ]
  }

  @Test("The program writes the keyring of the format specification") func thisProgramWritesTheVector() throws {
    let settings = KeyringSettings.fixed()
    let (_, first) = try Keyring.create(with: secrets[0], label: "laptop", settings: settings)
    let all = try first.adding(secrets[1], label: "usb \"key\"", settings: settings)
      .adding(secrets[2], label: "on paper", settings: settings)
      .adding(secrets[3], label: "this machine", settings: settings)
    #expect(String(decoding: all.keyring.serialized(), as: UTF8.self) == documented)
  }

  @Test("Each documented secret opens the documented keyring") func everySecretOpensTheVector() throws {
    let keyring = try Keyring(parsing: Array(documented.utf8))
    for secret in secrets {
      #expect(plain(try keyring.unlock(with: secret).databaseKey) == databaseKey)
    }
  }
}
