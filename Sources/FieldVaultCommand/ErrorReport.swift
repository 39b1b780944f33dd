import CipherSQL
import CommandLineKit
import VaultStore
import Platform
import SyncEngine
import VaultKeys
import HTTPClient

/// The text and the exit code of an error.
struct ErrorReport {
  let exitCode: ExitCode
  let message: String
  let hint: String?
  /// The error about an ambiguous id, whose candidates JSON lists apart from the message.
  private var ambiguity: VaultError?
  /// Whether the reader of the output has closed the pipe.
  var isSilent = false
  /// Set for a mistake on the command line, whose text is formatted already.
  private var usage: UsageError?

  init(_ error: any Error) {
    switch error {
    case let error as UsageError:
      self.init(exitCode: error.exitCode, message: error.message, hint: error.hint)
      usage = error
    case let error as VaultError where error.code == .ambiguous:
      var lines = [error.message] + error.candidates.map { "  " + $0 }
      let more = error.candidateCount - error.candidates.count
      if more > 0 { lines.append("  and \(countText(more)) more") }
      self.init(exitCode: .usage, lines: lines, hint: error.hint)
      ambiguity = error
    case let error as VaultError:
      let near = error.name.flatMap { nearest(to: $0, in: error.candidates) }
      self.init(
        exitCode: Self.exitCode(of: error), message: error.message,
        hint: near.map { "did you mean '\($0)'?" } ?? error.remedy?.hint)
    case let error as FileError:
      self.init(
        exitCode: error.code == .noSpace ? .noSpace : .failed, message: error.message, hint: error.hint)
    case let error as KeyError:
      self.init(exitCode: Self.exitCode(of: error), message: error.message, hint: error.hint)
    case let error as SQLError:
      self.init(exitCode: Self.exitCode(of: error), message: error.message, hint: error.hint)
    case let error as ImportRefused:
      self.init(exitCode: .refused, lines: Self.summary(of: error.result), hint: Self.advice(for: error.result))
    case let error as DatabaseImportRefused:
      self.init(exitCode: .refused, lines: error.summary, hint: error.advice)
    case let error as OutputError:
      self.init(exitCode: error.exitCode, message: "\(error)", hint: nil)
      isSilent = error.kind == .closed
    case let error as StartError:
      self.init(exitCode: error.exitCode, message: error.message, hint: error.hint)
    case let error as SyncRefused:
      self.init(exitCode: Self.exitCode(of: error), message: error.message, hint: error.hint)
    case let error as RouteFileRefused:
      self.init(
        exitCode: .refused, lines: error.problems.map { "\(error.path): \($0)" },
        hint: "correct the file; nothing was changed")
    case let error as RemoteFailure:
      self.init(
        exitCode: Self.exitCode(of: error.responseClass), message: error.message,
        hint: error.remedy.hint.isEmpty ? nil : error.remedy.hint)
    case let error as TransportFailure:
      self.init(RemoteFailure(error))
    case let error as PassphraseCommandFailed:
      self.init(
        exitCode: error.exitCode, message: error.message,
        hint: "the command must print the passphrase in its first line and end with status 0")
    case is CancellationError:
      self.init(exitCode: .interrupted, message: "interrupted", hint: nil)
    default:
      self.init(exitCode: .failed, message: "\(error)", hint: nil)
    }
  }

  private init(exitCode: ExitCode, message: String, hint: String?) {
    self.init(exitCode: exitCode, lines: [message], hint: hint)
  }

  /// - Parameter lines: each is shown as one line, also when a name or a text of a server in it has a line break.
  private init(exitCode: ExitCode, lines: [String], hint: String?) {
    self.exitCode = exitCode
    message = lines.map(escaped).joined(separator: "\n")
    self.hint = hint.map(escaped)
  }

  func text(for terminal: Terminal) -> String {
    if let usage { return String(usage.text(for: terminal).dropLast()) }
    let first = terminal.styled("error:", .red, .bold) + " " + message
    return hint.map { first + "\nhint:  " + $0 } ?? first
  }

  /// Returns the error as one JSON object in a line.
  func json() -> [UInt8] {
    ErrorObject(
      exitCode: exitCode, message: ambiguity?.message ?? message, hint: hint,
      candidates: ambiguity.map { ($0.candidates, $0.candidateCount) }
    ).line
  }

  private static func exitCode(of error: VaultError) -> ExitCode {
    switch error.code {
    case .notAVault, .noSuchEntity, .noSuchField, .noSuchRecord: .notFound
    case .damaged: .damaged
    case .busy: .busy
    case .badValue, .refused, .migrationNeeded: .refused
    case .noSpace: .noSpace
    // The server may have it.
    case .notHere, .notFetched: .offline
    default: .failed
    }
  }

  private static func exitCode(of error: KeyError) -> ExitCode {
    switch error.code {
    case .emptySecret: .usage
    case .damaged, .unacceptableParameters: .damaged
    case .noSpace: .noSpace
    case .noSuchSlot: .notFound
    case .lastSlot, .limitReached, .badLabel: .refused
    // A keyring that is missing is reported before it is read, so that this is about a secret's own file.
    case .notFound, .wrongSecret, .noSlotOfThatKind, .secretTooLong, .badRecoveryCode, .badKeyFile,
      .noTerminal, .secretsDiffer, .secretRequired, .badSystemSecret, .notInSecretStore, .secretStoreMissing,
      .secretStoreRefused:
      .locked
    case .cancelled: .interrupted
    default: .failed
    }
  }

  private static func exitCode(of error: SQLError) -> ExitCode {
    switch error.code {
    case .busy: .busy
    case .notADatabase, .damaged: .damaged
    case .diskFull: .noSpace
    case .constraint, .invalidSQL, .notAllowed, .readOnly, .migration, .tooBig, .typeMismatch: .refused
    case .interrupted: .interrupted
    default: .failed
    }
  }

  private static func exitCode(of error: SyncRefused) -> ExitCode {
    switch error {
    case .noRemote: .failed
    case .busy: .busy
    // Offline by the user's setting.
    case .deviceOnly, .metered: .offline
    }
  }

  private static func exitCode(of responseClass: ResponseClass) -> ExitCode {
    switch responseClass {
    case .unreachable, .later, .attempt: .offline
    case .pauseCredentials, .deviceRevoked: .credentials
    case .cancelled: .interrupted
    case .ok, .quotaExceeded, .cursorUnknown, .schemaTooOld, .otherProtocol, .deviceCopied, .newEpoch, .tooLarge,
      .refused:
      .failed
    }
  }

  private static func summary(of result: ImportResult) -> [String] {
    var lines = ["nothing was imported: \(countText(result.problemCount)) rows are invalid"]
    if result.problemCount == 1 { lines = ["nothing was imported: one row is invalid"] }
    lines += result.problems.prefix(10).map { "  " + ImportCommand.line(for: $0) }
    if result.problemCount > 10 { lines.append("  and \(countText(result.problemCount - 10)) more") }
    return lines
  }

  private static func advice(for result: ImportResult) -> String {
    "correct the file, or skip invalid rows with --skip-invalid"
  }
}
