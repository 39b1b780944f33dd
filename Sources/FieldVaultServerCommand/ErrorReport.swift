import CipherSQL
import CommandLineKit
import HTTPServer
import Platform
import SchemaModel
import ServerStorage
import SyncServer
import VaultKeys

/// An error about the value of an option, with the line of the configuration file that has the value.
struct SettingError: Error {
  let place: String
  let cause: any Error
}

extension ParsedArguments {
  /// Runs a closure that uses the value of an option. Its error gets the line of the configuration file, if the value comes
  /// from one. A usage error has it already.
  func locating<Result>(_ name: String, at index: Int = 0, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      throw located(error, name, at: index)
    }
  }

  func located(_ error: any Error, _ name: String, at index: Int = 0) -> any Error {
    guard !(error is UsageError), let place = place(name, at: index) else { return error }
    return SettingError(place: place, cause: error)
  }
}

/// The text and the exit code of an error.
struct ErrorReport {
  let exitCode: ExitCode
  private let message: String
  private let hint: String?
  /// Set for a mistake on the command line, whose text is formatted already.
  private var usage: UsageError?

  init(_ error: any Error) {
    switch error {
    case let error as UsageError:
      (exitCode, message, hint) = (error.exitCode, error.message, error.hint)
      usage = error
    case let error as SettingError:
      let cause = ErrorReport(error.cause)
      (exitCode, message, hint) = (cause.exitCode, "\(error.place): \(cause.message)", cause.hint)
    case let error as ServerError:
      (exitCode, message, hint) = (Self.exitCode(of: error), error.message, error.remedy?.hint)
    case let error as HTTPServerError:
      (exitCode, message, hint) = (
        .failed, error.message,
        error.code == .addressInUse ? "stop the other program, or choose another port with --listen" : error.hint
      )
    case let error as VaultError:
      exitCode = error.code == .noSuchEntity ? .notFound : error.code == .noSpace ? .noSpace : .failed
      (message, hint) = (error.message, error.hint)
    case let error as FileError:
      exitCode = error.code == .noSpace ? .noSpace : .failed
      (message, hint) = (error.message, error.hint)
    case let error as KeyError:
      exitCode = error.code == .noSpace ? .noSpace : error.code == .cannotWrite ? .failed : .locked
      (message, hint) = (error.message, error.hint)
    case let error as SQLError: (exitCode, message, hint) = (Self.exitCode(of: error), error.message, error.hint)
    case let error as OutputError: (exitCode, message, hint) = (error.exitCode, "\(error)", nil)
    default: (exitCode, message, hint) = (.failed, "\(error)", nil)
    }
  }

  func text(for terminal: Terminal) -> String {
    if let usage { return String(usage.text(for: terminal).dropLast()) }
    let first = terminal.styled("error:", .red, .bold) + " " + escaped(message)
    return hint.map { first + "\nhint:  " + escaped($0) } ?? first
  }

  /// Returns the error as one JSON object in a line.
  func json() -> [UInt8] {
    ErrorObject(exitCode: exitCode, message: escaped(message), hint: hint.map { escaped($0) }).line
  }

  private static func exitCode(of error: ServerError) -> ExitCode {
    switch error.code {
    case .noSuchUser, .noSuchAccount, .noSuchToken, .noSuchDevice, .noData: .notFound
    case .userExists, .exists, .schemas, .signInRefused, .deleted, .otherUsers: .refused
    case .badName, .badExpiry: .usage
    case .busy: .busy
    case .wrongKey, .badSealKeys: .locked
    case .damaged: .damaged
    case .badDatabase, .badObjectStore, .badWebhook, .badIdentityProvider, .disk, .system: .failed
    }
  }

  private static func exitCode(of error: SQLError) -> ExitCode {
    switch error.code {
    case .busy: .busy
    case .notADatabase, .damaged: .damaged
    case .diskFull: .noSpace
    case .migration: .refused
    default: .failed
    }
  }
}

/// The hints of errors: the only place that words a remedy in terms of commands and options.
extension ServerRemedy {
  var hint: String {
    switch self {
    case .advice(let text): text
    case .addFirstUser(let folder): "to create it: fieldvault-server user add NAME --data \(folder)"
    case .restoreBackup: "restore the folder from a backup: fieldvault-server restore FILE --data NEW_DIR"
    case .putFileBackOrRestoreBackup:
      "put the file back, or restore the folder from a backup: fieldvault-server restore FILE --data NEW_DIR"
    case .putKeyBackOrNameCopy: "put the file back, or use a copy of it: --key-file FILE"
    case .nameKeyFile: "use the key file that it was created with: --key-file FILE"
    case .nameSealKeys: "add --seal-key FILE, with the file of the other nodes"
    case .makeSealKey(let file): "to add a key: fieldvault-server seal-key new \(file)"
    case .nameKeyFileOfBackup: "add --key-file FILE"
    case .leaveOutSchema: "remove it from --schema, or rename the new schema"
    case .showTokens: "to list tokens: fieldvault-server token list"
    case .showDevices: "to list devices: fieldvault-server device list"
    case .showAccounts: "to list accounts: fieldvault-server account list"
    case .showUsers: "to list users: fieldvault-server user list"
    case .migrate: "start the server once, or run: fieldvault-server migrate"
    case .finishDeletion(let account): "to finish the deletion: fieldvault-server account delete \(account)"
    case .addToken(let user): "to add another token: fieldvault-server token add \(user)"
    }
  }
}
